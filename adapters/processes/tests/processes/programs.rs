//! What a program is given, and what it is not.

use homing_ports::processes::{Input, ProcessError, Processes, Program, TerminalSize};
use homing_processes::MARKER;

use crate::bench::{Bench, code};

#[tokio::test]
async fn its_environment_is_exactly_what_was_given() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request = bench.request(Program::Arguments(vec!["/usr/bin/env".into(), "-0".into()]));
    request.environment = vec![
        ("A".into(), "1".into()),
        ("LINES".into(), "two\nlines = é".into()),
        ("EMPTY".into(), String::new()),
    ];
    let process = request.process;
    gateway.run(request).await;
    assert_eq!(
        gateway.text(process).await,
        format!("A=1\0LINES=two\nlines = é\0EMPTY=\0{MARKER}={process}\0")
    );
}

#[tokio::test]
async fn its_descriptors_are_the_standard_three() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    // One that a careless library would leave open over exec. `ls` itself opens the folder it lists, as 3.
    let leaked =
        rustix::io::fcntl_dupfd_cloexec(std::fs::File::open("/dev/null").unwrap(), 50).unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    for input in [Input::Empty, Input::Open] {
        let mut request = bench.request(Program::Arguments(vec![
            "ls".into(),
            "/proc/self/fd".into(),
        ]));
        request.input = input;
        let process = request.process;
        gateway.run(request).await;
        assert_eq!(gateway.text(process).await, "0\n1\n2\n3\n");
    }
}

#[tokio::test]
async fn its_signals_are_as_the_system_has_them() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let request = bench.request(Program::Arguments(
        ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
            .map(String::from)
            .to_vec(),
    ));
    let process = request.process;
    gateway.run(request).await;
    assert_eq!(
        gateway.text(process).await,
        "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
    );
}

#[tokio::test]
async fn it_runs_where_it_was_told_in_a_group_of_its_own() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request = bench
        .shell("pwd; [ $(ps -o pgid= -p $$) -eq $$ ] && echo own group; readlink /proc/self/fd/0");
    request.directory = "/usr".into();
    let process = request.process;
    gateway.run(request).await;
    assert_eq!(gateway.text(process).await, "/usr\nown group\n/dev/null\n");
}

#[tokio::test]
async fn input_is_written_and_closed() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request = bench.request(Program::Arguments(vec!["cat".into()]));
    request.input = Input::Open;
    request.signal_output = true;
    let process = request.process;
    gateway.start(request).await.unwrap();
    gateway.processes.write(process, b"first\n").await.unwrap();
    gateway.says(process, "first\n").await;
    // More than any pipe holds.
    let large = vec![b'x'; 300_000];
    gateway.processes.write(process, &large).await.unwrap();
    gateway.processes.close_input(process).await.unwrap();
    let exit = gateway.ended(process).await;
    assert_eq!((exit.ending, exit.output_total), (code(0), 300_006));
    assert!(matches!(
        gateway.processes.write(process, b"late").await,
        Err(ProcessError::Ended(_))
    ));
}

#[tokio::test]
async fn without_an_open_input_there_is_none_to_write_to() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let request = bench.shell("exec sleep 1000");
    let process = request.process;
    gateway.start(request).await.unwrap();
    assert!(matches!(
        gateway.processes.write(process, b"x").await,
        Err(ProcessError::NoInput(_))
    ));
    assert!(matches!(
        gateway.processes.close_input(process).await,
        Err(ProcessError::NoInput(_))
    ));
    let _ = gateway
        .processes
        .kill(process, std::time::Duration::ZERO)
        .await
        .unwrap();
    gateway.ended(process).await;
}

#[tokio::test]
async fn a_terminal_is_one() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request = bench.shell("[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal; stty size; read line; echo got $line; cat; echo end");
    request.terminal = Some(TerminalSize {
        rows: 33,
        columns: 101,
    });
    request.input = Input::Open;
    request.signal_output = true;
    let process = request.process;
    gateway.start(request).await.unwrap();
    assert!(
        gateway
            .says(process, "33 101")
            .await
            .contains("terminal\r\n")
    );
    gateway.processes.write(process, b"hello\n").await.unwrap();
    gateway.says(process, "got hello").await;
    gateway
        .processes
        .write(process, b"half a line")
        .await
        .unwrap();
    gateway.processes.close_input(process).await.unwrap();
    assert_eq!(gateway.ended(process).await.ending, code(0));
    assert!(gateway.text(process).await.ends_with("end\r\n"));
}

#[tokio::test]
async fn a_terminal_without_input_has_an_empty_one() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let mut request = bench.shell("[ -t 1 ] && cat && [ ! -t 0 ] && echo empty");
    request.terminal = Some(TerminalSize {
        rows: 24,
        columns: 80,
    });
    let process = request.process;
    assert_eq!(gateway.run(request).await.ending, code(0));
    assert_eq!(gateway.text(process).await, "empty\r\n");
}
