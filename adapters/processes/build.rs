//! Builds the supervisor (`homing-shim`) as a small static binary and hands it to the compiler to be embedded.
//!
//! A cargo of its own, with a target folder of its own: the flags that make it small must not reach anything else, and the outer cargo holds the
//! lock of the usual folder. It needs nothing that is not in the workspace's `Cargo.lock`, and no network.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the outer cargo sets for us and must not set for the inner one.
const NOT_INHERITED: [&str; 10] = [
    "RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_TARGET_DIR",
    "CARGO_INCREMENTAL",
    "CLIPPY_ARGS",
];

fn main() -> Result<(), Box<dyn Error>> {
    let shim = Path::new(&env::var("CARGO_MANIFEST_DIR")?)
        .join("../../crates/shim")
        .canonicalize()?;
    for watched in ["src", "Cargo.toml", "../../Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", shim.join(watched).display());
    }
    println!("cargo::rerun-if-changed=build.rs");

    let binary = fs::read(build(&shim)?)?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("homing-shim"), &binary)?;
    println!(
        "cargo::rustc-env=HOMING_SHIM_HASH={:016x}",
        fingerprint(&binary)
    );
    Ok(())
}

fn build(shim: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let target = env::var("TARGET")?;
    let target_dir = PathBuf::from(env::var("OUT_DIR")?).join("shim-target");
    let mut cargo = Command::new(env::var("CARGO")?);
    for name in NOT_INHERITED {
        cargo.env_remove(name);
    }
    // With `--target`, the flags reach the supervisor and not the build scripts of what it is made of. Not position-independent: relocating
    // would touch, and so keep in memory, every page that holds an address.
    let flags = ["-Ctarget-feature=+crt-static", "-Crelocation-model=static"].join("\x1f");
    let output = cargo
        .args([
            "build",
            "--release",
            "--offline",
            "--quiet",
            "--bin",
            "homing-shim",
            "--target",
            &target,
        ])
        .arg("--manifest-path")
        .arg(shim.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target_dir)
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s")
        .env("CARGO_PROFILE_RELEASE_LTO", "fat")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "none")
        .output()?;
    if !output.status.success() {
        return Err(format!(
            "building homing-shim: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
        .into());
    }
    Ok(target_dir.join(target).join("release/homing-shim"))
}

/// FNV-1a. It only tells versions apart; the installed file is compared byte by byte.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}
