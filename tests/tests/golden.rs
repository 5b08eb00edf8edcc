//! Test runner in which every file of `tests/golden` is a test; `tests/golden/README.md` specifies the format.
//!
//! `cargo test -p myriad-tests --test golden [PART OF A NAME...]`. `MYRIAD_GOLDEN_NGINX=/usr/sbin/nginx` runs them
//! against nginx, `MYRIAD_GOLDEN_JOBS` sets the number of concurrent tests.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::{env, fs, panic, thread};

use myriad_tests::golden::{Case, Outcome, Subject, find, folder};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let mut files = find(&folder());
    files.retain(|(name, _)| wanted.is_empty() || wanted.iter().any(|part| name.contains(*part)));
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, _) in &files {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} golden tests", files.len());
    let results = play_all(files);
    let count = |kind: fn(&Outcome) -> bool| results.iter().filter(|(_, outcome)| kind(outcome)).count();
    let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    for (name, outcome) in &results {
        if let Outcome::Failed(what) = outcome {
            println!("\n==== tests/golden/{name}.golden\n{what}");
        }
    }
    println!(
        "\ngolden: {} passed, {failed} failed, {} skipped",
        count(|outcome| *outcome == Outcome::Passed),
        count(|outcome| matches!(outcome, Outcome::Skipped(_))),
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the files, a few at a time; returns names and outcomes in the order of the files.
fn play_all(files: Vec<(String, PathBuf)>) -> Vec<(String, Outcome)> {
    let subject = Subject::from_environment();
    let jobs = env::var("MYRIAD_GOLDEN_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(4);
    // A panic message is part of the outcome; printed immediately it would be mixed with the output of other tests.
    panic::set_hook(Box::new(|_| {}));
    let (queue, done) = (Mutex::new(VecDeque::from(files)), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let Some((name, path)) = queue.lock().expect("the queue").pop_front() else { return };
                    let outcome = play(&path, &subject);
                    println!("test {name} ... {}", word(&outcome));
                    done.lock().expect("the outcomes").push((name, outcome));
                }
            });
        }
    });
    let _ = panic::take_hook();
    let mut done = done.into_inner().expect("the outcomes");
    done.sort_by(|(a, _), (b, _)| a.cmp(b));
    done
}

fn play(path: &PathBuf, subject: &Subject) -> Outcome {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Case::parse(&text).map_or_else(Outcome::Failed, |case| case.play(subject))
}

fn word(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed => "ok".to_owned(),
        Outcome::Skipped(reason) => format!("skipped ({reason})"),
        Outcome::Failed(_) => "FAILED".to_owned(),
    }
}
