//! How it ended is told apart, and told at once.

use homing_domain::process::Ending;
use homing_ports::processes::{Fate, ProcessError, Processes, Program, StartError};

use crate::bench::{Bench, code};

#[tokio::test]
async fn codes_and_signals_are_told_apart() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    assert_eq!(gateway.run(bench.shell("exit 0")).await.ending, code(0));
    assert_eq!(gateway.run(bench.shell("exit 3")).await.ending, code(3));
    assert_eq!(
        gateway.run(bench.shell("kill -9 $$")).await.ending,
        Ending::Signal(9)
    );
    assert_eq!(
        gateway.run(bench.shell("kill -15 $$")).await.ending,
        Ending::Signal(15)
    );
    // What a shell makes of a signal is a code, and stays one.
    assert_eq!(
        gateway
            .run(bench.shell("sh -c 'kill -9 $$'; exit $?"))
            .await
            .ending,
        code(137)
    );
}

#[tokio::test]
async fn what_cannot_be_run_says_why_and_stays_that() {
    let bench = Bench::new();
    let gateway = bench.gateway();
    let cases = [
        (
            Program::Arguments(vec!["no-such-program".into()]),
            None,
            "the program no-such-program: No such file or directory",
        ),
        (
            Program::Arguments(vec!["/etc/passwd".into()]),
            None,
            "the program /etc/passwd: Permission denied",
        ),
        (
            Program::Shell("true".into()),
            Some("/no/such"),
            "the directory /no/such: No such file or directory",
        ),
        (
            Program::Shell("true".into()),
            Some("/etc/passwd"),
            "the directory /etc/passwd: Not a directory",
        ),
    ];
    for (program, directory, wanted) in cases {
        let mut request = bench.request(program);
        request.directory = directory.map_or(request.directory, Into::into);
        let process = request.process;
        match gateway.start(request).await {
            Err(StartError::CannotRun(why)) => assert_eq!(why, wanted),
            other => panic!("{other:?}"),
        }
        assert_eq!(
            gateway.processes.fate(process).await.unwrap(),
            Fate::NeverRan(wanted.to_owned())
        );
        gateway.processes.forget(process).await.unwrap();
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_before_anything_is_made() {
    let bench = Bench::new();
    let gateway = bench.gateway();
    let mut nameless = bench.shell("true");
    nameless.environment = vec![("A=B".into(), "c".into())];
    let mut zero = bench.shell("true");
    zero.environment = vec![("A".into(), "b\0c".into())];
    for request in [bench.request(Program::Arguments(vec![])), nameless, zero] {
        let process = request.process;
        assert!(matches!(
            gateway.start(request).await,
            Err(StartError::CannotRun(_))
        ));
        assert!(matches!(
            gateway.processes.fate(process).await,
            Err(ProcessError::Unknown(_))
        ));
    }
}

#[tokio::test]
async fn a_second_start_is_refused_and_changes_nothing() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let request = bench.shell("echo once; exit 4");
    let process = request.process;
    gateway.start(request.clone()).await.unwrap();
    assert!(matches!(
        gateway.start(request.clone()).await,
        Err(StartError::StartedBefore(_))
    ));
    assert_eq!(gateway.ended(process).await.ending, code(4));
    assert!(matches!(
        gateway.start(request).await,
        Err(StartError::StartedBefore(_))
    ));
    assert_eq!(gateway.text(process).await, "once\n");
}

/// Public bugs 17327 and 17430: the end was waited for at the end of the output.
#[tokio::test]
async fn a_grandchild_that_holds_the_pipe_does_not_delay_the_end() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let request = bench.shell("sleep 1000 & echo done; exit 5");
    let process = request.process;
    let exit = gateway.run(request).await;
    assert_eq!((exit.ending, exit.output_total), (code(5), 5));
    assert_eq!(gateway.text(process).await, "done\n");

    // It is left alone, counted, and its supervisor stays with it; so the folder cannot go yet.
    assert_eq!(bench.folder(process).exit().unwrap().unwrap().left, 1);
    assert!(matches!(
        gateway.processes.forget(process).await,
        Err(ProcessError::Running(_))
    ));
    let _ = gateway
        .processes
        .kill(process, std::time::Duration::ZERO)
        .await
        .unwrap();
    crate::bench::until("what is left is killed", || {
        crate::bench::tree(process).is_empty()
    })
    .await;
    crate::bench::until("its supervisor goes", || {
        std::matches!(
            bench.folder(process).try_lock(),
            Ok(homing_shim::folder::LockState::Free(_))
        )
    })
    .await;
    gateway.processes.forget(process).await.unwrap();
    assert!(matches!(
        gateway.processes.fate(process).await,
        Err(ProcessError::Unknown(_))
    ));
}

#[tokio::test]
async fn a_grandchild_that_goes_on_writing_is_not_killed_by_that() {
    let bench = Bench::new();
    let mut gateway = bench.gateway();
    let request =
        bench.shell("(while [ ! -e go ]; do sleep 0.01; done; echo later; touch wrote) & exit 0");
    let process = request.process;
    let exit = gateway.run(request).await;
    assert_eq!(exit.output_total, 0);
    std::fs::write(bench.data.path().join("go"), "").unwrap();
    crate::bench::until("it writes after the end", || {
        bench.data.path().join("wrote").exists()
    })
    .await;
    crate::bench::until("it is gone", || crate::bench::tree(process).is_empty()).await;
    crate::bench::until("its supervisor goes", || {
        std::matches!(
            bench.folder(process).try_lock(),
            Ok(homing_shim::folder::LockState::Free(_))
        )
    })
    .await;
    assert_eq!(gateway.text(process).await, "later\n");
}

#[tokio::test]
async fn two_hundred_short_programs_at_once_lose_nothing() {
    let bench = Bench::new();
    let gateway = bench.gateway();
    let requests: Vec<_> = (0..200)
        .map(|number| bench.shell(&format!("echo {number}; exit {}", number % 7)))
        .collect();
    let ids: Vec<_> = requests.iter().map(|request| request.process).collect();
    let gateway = std::sync::Arc::new(tokio::sync::Mutex::new(gateway));
    let started = {
        let gateway = gateway.lock().await;
        let starts = requests.into_iter().map(|request| gateway.start(request));
        futures_join(starts).await
    };
    assert!(started.iter().all(Result::is_ok), "{started:?}");
    let mut gateway = gateway.lock().await;
    for (number, process) in ids.into_iter().enumerate() {
        let exit = gateway.ended(process).await;
        assert_eq!(exit.ending, code(number as i32 % 7));
        assert_eq!(gateway.text(process).await, format!("{number}\n"));
        assert_eq!(exit.output_total, format!("{number}\n").len() as u64);
    }
}

/// All at the same time, results in order.
async fn futures_join<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = futures.map(Box::pin).map(Some).collect();
    let mut results: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for (slot, result) in waiting.iter_mut().zip(&mut results) {
            let Some(future) = slot else { continue };
            match future.as_mut().poll(context) {
                std::task::Poll::Ready(value) => {
                    *result = Some(value);
                    *slot = None;
                }
                std::task::Poll::Pending => pending = true,
            }
        }
        if pending {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
    results.into_iter().flatten().collect()
}
