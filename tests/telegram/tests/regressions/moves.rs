//! A group becomes a supergroup, and gets another number.

use crate::world::World;

#[tokio::test]
async fn bug_66_background_work_of_a_group_comes_home_to_the_supergroup_it_became() {
    let mut world = World::new().await;
    let group = world.group();
    world.start().await;
    world.talk(group, "one").await;
    world.background(group, "a").await;
    let session = world.session(group).await.unwrap();
    let moved = world.server.migrate(world.alice, group).unwrap();
    world.quiet().await;
    assert_eq!(
        world.session(moved).await,
        Some(session),
        "the same conversation"
    );
    world.let_through("a");
    world.told(moved, "\nthrough-a").await;
    world.talk(moved, "two").await;
    assert_eq!(
        (world.session(moved).await, world.conversations().await),
        (Some(session), 1)
    );
    world.end().await;
}

#[tokio::test]
async fn bug_66_a_group_that_moved_while_the_gateway_was_away_is_found() {
    let mut world = World::new().await;
    let group = world.group();
    world.start().await;
    world.talk(group, "one").await;
    world.background(group, "a").await;
    let session = world.session(group).await.unwrap();
    world.stop().await;
    world.let_through("a");
    let moved = world.server.migrate(world.alice, group).unwrap();
    world.says(moved, "two");
    world.start().await;
    world.told(moved, "\nthrough-a").await;
    world.told(moved, "heard two").await;
    assert_eq!(world.session(moved).await, Some(session));
    world.end().await;
}
