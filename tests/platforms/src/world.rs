//! What the suite needs of a platform: a simulated world with places and people in it, and the adapter under test.
//!
//! **Invariant:** what a [`World`] shows is read from the simulator, never from the adapter: the judge does not borrow the eyes of the judged.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::key::ChatType;
use homing_ports::inbox::Inbox;
use homing_ports::platform::Platform;

/// A platform with its simulator.
#[async_trait]
pub trait Kind: Send + Sync {
    /// A world of its own, in which nobody has said anything and no adapter is open.
    async fn world(&self) -> Box<dyn World>;

    /// Whether this is of this platform. A check that needs what is not is not run, and is counted.
    fn has(&self, need: Need) -> bool;

    /// What checks see of the adapter: all of it, except where the suite itself is on trial.
    fn platform(&self, adapter: Arc<dyn Platform>) -> Arc<dyn Platform> {
        adapter
    }

    /// What the adapter sees of the inbox.
    fn inbox(&self, inbox: Arc<dyn Inbox>) -> Arc<dyn Inbox> {
        inbox
    }
}

/// What a check may need beside sending and receiving texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    At(Spot),
    /// The adapter's sends are under test. Not so where only another way of receiving is.
    Sends,
    Deduplicates,
    LooksUp,
    /// Neither: what may be a repeat is marked.
    Unprotected,
    TakesBack,
    Typing,
    Previews,
    Buttons,
    Files,
    Attachments,
    Albums,
    Pastes,
    Replies,
    Edits,
    Closing,
    Deleting,
    Moving,
    Removing,
    Misplacing,
    /// An accepted update may be brought once more.
    Repeats,
    /// Updates may come in another order than they were made.
    Reorders,
    Unreadable,
    PollTroubles,
    RateLimits,
    ServerErrors,
    AnswersLost,
    Resets,
    Silences,
    Slowness,
    Formatting,
    Secrets,
}

/// A kind of place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spot {
    Private,
    PrivateTopic,
    Group,
    /// Outside all topics of a chat that has some.
    General,
    Topic,
    Channel,
    /// What one person writes to a channel.
    Direct,
}

impl Spot {
    pub const ALL: [Spot; 7] = [
        Spot::Private,
        Spot::PrivateTopic,
        Spot::Group,
        Spot::General,
        Spot::Topic,
        Spot::Channel,
        Spot::Direct,
    ];

    pub const fn chat_type(self) -> ChatType {
        match self {
            Spot::Private | Spot::PrivateTopic => ChatType::Dm,
            Spot::Group | Spot::General | Spot::Topic => ChatType::Group,
            Spot::Channel | Spot::Direct => ChatType::Channel,
        }
    }
}

/// How a spot is called on the platform.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    pub chat: String,
    pub thread: Option<String>,
}

/// A message that the adapter sent, as people see it now.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub place: Place,
    pub message: String,
    pub text: String,
    /// Whether any of it is set in another way than plain.
    pub formatted: bool,
    /// What the buttons say when they are pressed.
    pub buttons: Vec<Vec<String>>,
    pub file: Option<SeenFile>,
    /// How often it was changed.
    pub edits: usize,
    /// People can tell that it may be a repeat.
    pub marked: bool,
    pub deleted: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SeenFile {
    pub name: Option<String>,
    pub bytes: Vec<u8>,
}

/// What one send meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    RateLimited(Duration),
    /// The server says that it failed.
    ServerError(Effect),
    /// Somebody in between says that it failed.
    BadGateway(Effect),
    /// The connection ends without an answer.
    Reset(Effect),
    /// No answer comes.
    Silence(Effect),
    /// Taken; the answer breaks off.
    HalfAnswer,
    /// Taken; the answer takes as long.
    Slow(Duration),
    /// Taken, and put there.
    Misplaced(Spot),
    FormattingRefused,
}

/// Which poll meets a trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strikes {
    /// The one that waits for news.
    Waiting,
    /// The next one.
    Next,
}

/// Whether a request that met trouble was carried out nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Taken,
    Nothing,
}

/// A simulated server, what people do on it, and the adapter. Everything besides opening and closing happens at once.
#[async_trait]
pub trait World: Send + Sync {
    /// Opens the adapter, anew, on the state that is there.
    async fn open(&mut self, inbox: Arc<dyn Inbox>);
    /// Tells the adapter to end and waits until it has.
    async fn close(&mut self);
    /// Ends the adapter in the middle of whatever it does.
    async fn kill(&mut self);
    /// The adapter that was opened last.
    fn platform(&self) -> Arc<dyn Platform>;

    /// How the platform names it. Only asked where there is one.
    fn place(&self, spot: Spot) -> Place;
    /// Who speaks there, as the platform names them.
    fn speaker(&self, spot: Spot) -> String;

    /// The platform's id of the message, where it is known.
    fn write(&self, spot: Spot, text: &str) -> Option<String>;
    /// Updates that were not confirmed.
    fn unconfirmed(&self) -> usize;
    /// Everything the adapter has sent, in order.
    fn seen(&self) -> Vec<Seen>;
    /// Waits until this is so, for as long as [`limit`](crate::kept::limit); looks again whenever something happened. Whether it is so.
    async fn wait_until(&self, met: &(dyn for<'w> Fn(&'w dyn World) -> bool + Sync)) -> bool;
    /// What no correct client does.
    fn misbehaviour(&self) -> Vec<String> {
        Vec::new()
    }

    /// Nobody is there: connections are refused.
    async fn go_away(&self);
    fn come_back(&self);
    /// The next send meets this.
    fn trouble(&self, trouble: Trouble) {
        not_here(&format!("{trouble:?}"))
    }

    fn reply(&self, spot: Spot, to: &str, text: &str) -> String {
        not_here(&format!("{spot:?} {to} {text}"))
    }
    fn edit(&self, spot: Spot, message: &str, text: &str) {
        not_here(&format!("{spot:?} {message} {text}"))
    }
    fn press(&self, spot: Spot, message: &str, says: &str) {
        not_here(&format!("{spot:?} {message} {says}"))
    }
    fn album(&self, spot: Spot, captions: &[&str]) {
        not_here(&format!("{spot:?} {captions:?}"))
    }
    /// A long text as the platform's own client sends it: in parts.
    fn paste(&self, spot: Spot, text: &str) {
        not_here(&format!("{spot:?} {text}"))
    }
    fn upload(&self, spot: Spot, file: Upload<'_>) {
        not_here(&format!("{spot:?} {file:?}"))
    }
    fn close_place(&self, spot: Spot) {
        not_here(&format!("{spot:?}"))
    }
    fn reopen_place(&self, spot: Spot) {
        not_here(&format!("{spot:?}"))
    }
    fn delete_place(&self, spot: Spot) {
        not_here(&format!("{spot:?}"))
    }
    /// The chat gets another number, which is returned.
    fn move_chat(&mut self, spot: Spot) -> String {
        not_here(&format!("{spot:?}"))
    }
    fn remove_bot(&self, spot: Spot) {
        not_here(&format!("{spot:?}"))
    }
    /// The last updates that were confirmed are brought once more with the next ones.
    fn repeat_updates(&self, count: usize) {
        not_here(&count.to_string())
    }
    fn reorder_updates(&self) {
        not_here("")
    }
    /// An update of a kind that nobody knows.
    fn unreadable_update(&self) {
        not_here("")
    }
    /// What was kept of such updates.
    fn kept_unreadable(&self) -> String {
        not_here("")
    }
    /// Each of these may meet a poll, and passes.
    fn poll_troubles(&self) -> Vec<(&'static str, Strikes)> {
        not_here("")
    }
    async fn poll_trouble(&self, name: &str) {
        not_here(name)
    }
    /// What polls were refused with.
    fn poll_refusals(&self) -> Vec<String> {
        not_here("")
    }
    /// Where a sign of typing was last shown.
    fn typing(&self) -> Vec<Place> {
        not_here("")
    }
    /// What may stand in no log, error or debug text.
    fn secrets(&self) -> Vec<String> {
        not_here("")
    }
    /// The adapter and its settings as debug text.
    fn debug_text(&self) -> String {
        not_here("")
    }
}

/// A file that a person sends.
#[derive(Debug, Clone, Copy)]
pub struct Upload<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
    pub caption: &'a str,
    /// A size to claim in place of the true one.
    pub claimed: Option<u64>,
}

fn not_here<T>(what: &str) -> T {
    panic!("a check asked for what this platform has not, without saying so in its needs: {what}")
}
