use homing_model::{Homing, bug, bug::Bug, check, rules::Rule, scenes};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};
fn main() {
    let two = NonZeroUsize::new(2).unwrap();
    for s in scenes::quick().into_iter().chain(scenes::full()) {
        let t = Instant::now();
        let f = check(
            Homing::new(Bug::None, vec![s]),
            &Rule::ALL,
            two,
            Duration::from_secs(100),
        );
        println!(
            "{:?} states {} unique {} depth {} complete {} {:.1}s",
            s.left,
            f.states,
            f.unique,
            f.depth,
            f.complete,
            t.elapsed().as_secs_f64()
        );
        for (r, s) in f.broken {
            println!("BROKEN {r}\n   {}", s.join(" "));
        }
    }
    for p in bug::planted() {
        let f = check(
            Homing::new(p.bug, vec![p.scene]),
            &[p.rule],
            two,
            Duration::from_secs(100),
        );
        println!(
            "{:?} {} unique {}",
            p.bug,
            if f.broken.contains_key(p.rule.sentence()) {
                "caught"
            } else {
                "MISSED"
            },
            f.unique
        );
        for (r, s) in f.broken {
            println!("   {r}\n      {}", s.join(" "));
        }
    }
}
