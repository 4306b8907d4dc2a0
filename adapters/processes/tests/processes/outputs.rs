//! Every byte is counted, and what is kept stands where it was written.

use homing_ports::processes::{OutputKeep, ProcessWake, Processes, Program};

use crate::bench::{Bench, code};

#[tokio::test]
async fn head_and_tail_are_kept_by_offset() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    // 200,000 lines of 8 bytes: line `n` stands at `8 * n`.
    let mut request = bench.shell("i=0; while [ $i -lt 2000 ]; do printf '%07d\\n' $i; i=$((i+1)); done; seq -f %07.0f 2000 199999");
    request.keep = OutputKeep {
        head: 1_000,
        tail: 40_000,
    };
    let process = request.process;
    let exit = gateway.run(request).await;
    assert_eq!((exit.ending, exit.output_total), (code(0), 1_600_000));

    let read = async |from, limit| {
        gateway
            .processes
            .output(process, from, limit)
            .await
            .unwrap()
    };
    let chunk = read(0, 10_000).await;
    assert_eq!(
        (chunk.from, chunk.bytes.len(), chunk.total),
        (0, 1_000, 1_600_000)
    );
    assert_eq!(read(8, 8).await.bytes, b"0000001\n");
    assert_eq!(read(996, 100).await.bytes, b"124\n");

    // What is no longer kept: the answer begins at the next byte that is.
    let chunk = read(1_000, 16).await;
    assert!(chunk.from > 1_000 && chunk.from <= 1_560_000);
    let line = chunk.from / 8;
    let text = format!("{line:07}\n{:07}\n{:07}\n", line + 1, line + 2);
    let shift = (chunk.from % 8) as usize;
    assert_eq!(chunk.bytes, text.as_bytes()[shift..shift + 16]);

    let last = gateway.processes.tail(process, 16).await.unwrap();
    assert_eq!(
        (last.from, last.bytes.as_slice()),
        (1_599_984, b"0199998\n0199999\n".as_slice())
    );
    assert_eq!(
        gateway
            .processes
            .tail(process, 40_000)
            .await
            .unwrap()
            .bytes
            .len(),
        40_000
    );
    assert_eq!(read(1_600_000, 10).await.bytes, b"");

    let kept: u64 = std::fs::read_dir(bench.path(process))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("out."))
        .map(|entry| entry.metadata().unwrap().len())
        .sum();
    assert!(kept <= 1_000 + 40_000 + 2 * 10_000, "{kept} bytes on disk");
}

#[tokio::test]
async fn bytes_that_are_no_text_come_back_as_they_are() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let request = bench.shell("printf '\\377\\000\\200a\\n'; printf '\\303' >&2");
    let process = request.process;
    gateway.run(request).await;
    assert_eq!(gateway.bytes(process).await, b"\xff\x00\x80a\n\xc3");
}

#[tokio::test]
async fn a_last_burst_as_large_as_the_pipe_is_not_lost() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    for _ in 0..20 {
        let request = bench.request(Program::Arguments(
            ["head", "-c", "65536", "/dev/zero"]
                .map(String::from)
                .to_vec(),
        ));
        assert_eq!(gateway.run(request).await.output_total, 65_536);
    }
}

#[tokio::test]
async fn the_last_bytes_are_followed_by_a_wake() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request =
        bench.shell("for i in 1 2 3 4 5 6 7 8 9; do echo $i; done; printf last; exec sleep 1000");
    request.signal_output = true;
    let process = request.process;
    gateway.start(request).await.unwrap();
    // `says` looks only after a wake.
    assert!(gateway.says(process, "last").await.ends_with("9\nlast"));
    let _ = gateway
        .processes
        .kill(process, std::time::Duration::ZERO)
        .await
        .unwrap();
    gateway.ended(process).await;
}

#[tokio::test]
async fn wakes_of_a_program_that_keeps_writing_are_few() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request = bench.shell("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done");
    request.signal_output = true;
    let process = request.process;
    let begin = std::time::Instant::now();
    gateway.start(request).await.unwrap();
    let mut wakes = 0;
    while gateway.wakes.recv().await.unwrap() == ProcessWake::Output(process) {
        wakes += 1;
    }
    let most = begin.elapsed().as_millis() / 20 + 2;
    assert!(wakes >= 1 && wakes <= most, "{wakes} wakes, at most {most}");
}
