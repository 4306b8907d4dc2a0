//! What must be seen nowhere.

use std::time::Duration;

use homing_ports::platform::Attachment;

use crate::Scene;
use crate::logs;
use crate::world::{Effect, Spot, Trouble};

/// In whatever goes wrong, and down to the last detail that any library logs.
pub async fn no_secret_is_in_a_log_an_error_or_a_debug_text(scene: &mut Scene<'_>) {
    logs::capture();
    scene.restart().await;
    let origin = scene.origin(Spot::Topic).await;
    let mut said = vec![scene.world.debug_text()];
    for trouble in [
        Trouble::RateLimited(Duration::from_secs(1)),
        Trouble::ServerError(Effect::Nothing),
        Trouble::BadGateway(Effect::Nothing),
        Trouble::Reset(Effect::Nothing),
        Trouble::HalfAnswer,
    ] {
        // Of another chat each time: one that was slowed down is not asked.
        let origin = match trouble {
            Trouble::RateLimited(_) => scene.origin(Spot::Private).await,
            _ => origin.clone(),
        };
        scene.world.trouble(trouble);
        let error = scene.send(&origin, "x").await.unwrap_err();
        said.push(format!("{error} {error:?}"));
    }
    let unknown = Attachment {
        name: None,
        media_type: None,
        bytes: None,
        reference: "unknown".into(),
        first_came_with: None,
    };
    let into = scene.path("unknown");
    for is_away in [false, true] {
        if is_away {
            scene.close().await;
            scene.world.go_away().await;
            scene.open_unready().await;
            let error = scene.send(&origin, "x").await.unwrap_err();
            said.push(format!("{error} {error:?}"));
        }
        let error = scene.platform().fetch(&unknown, &into).await;
        let error = error.unwrap_err();
        said.push(format!("{error} {error:?}"));
    }
    scene.world.come_back();
    said.push(scene.world.kept_unreadable());
    said.push(format!("{:?}", scene.inbox.heard()));
    said.push(logs::captured());
    assert!(logs::captured().contains("DEBUG"), "logs are captured");
    let secrets = scene.world.secrets();
    assert!(!secrets.is_empty());
    for secret in secrets {
        for text in &said {
            let line = text.lines().find(|line| line.contains(&secret));
            assert_eq!(line, None, "a secret was said");
        }
    }
}
