use homing_model::{bug::Bug, check, settings, state::Left, Homing};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};
fn main() {
    let a: Vec<u8> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let left = Left { commands: a[1], messages: a[2], compressions: a[3], crashes: a[4], mishaps: a[5], waits: a[6], windows: a[7] };
    let t = Instant::now();
    let f = check(Homing::new(Bug::None, left, vec![settings()[a[0] as usize]]), NonZeroUsize::new(2).unwrap(), Duration::from_secs(100));
    println!("{a:?} states {} unique {} depth {} complete {} {:.1}s", f.states, f.unique, f.depth, f.complete, t.elapsed().as_secs_f64());
    for (r, s) in f.broken { println!("BROKEN {r}\n   {}", s.join(" ")); }
}
