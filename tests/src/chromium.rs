//! Headless browser that loads a page and returns the result.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Place;
use crate::process::{Signal, missing, signal_group};

/// Timeout of one run of the browser. It exceeds the duration on a loaded machine, which is ten times that on an idle
/// machine.
const PATIENCE: Duration = Duration::from_secs(90);
/// Maximum number of starts of a browser that fails before its first request.
const TRIES: usize = 3;

/// Page after its scripts have run.
#[derive(Debug)]
pub struct Loaded {
    /// Document as HTML.
    pub page: String,
    /// Lines of the browser's log with messages of the console.
    pub console: Vec<String>,
}

/// Loads a page in Chromium, whose profile is in the folder of the test. `MYRIAD_CHROMIUM` specifies another browser of
/// that family.
///
/// `asked` returns the number of requests that the server has received. A browser that crashes or hangs before its
/// first request is restarted, because this is not an error of the server. After a request it is not restarted, and its
/// failure counts.
pub fn load(place: &Place, url: &str, options: &[String], asked: impl Fn() -> usize) -> Loaded {
    // One at a time, because a browser consists of a dozen processes.
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = asked();
    for number in 1..=TRIES {
        let came_through = run(place, url, options);
        let (page, said) = (place.read("chromium.out"), place.read("chromium.err"));
        if came_through {
            drop(alone);
            let console = said.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned);
            return Loaded { console: console.collect(), page };
        }
        assert!(asked() == before, "the browser sent requests, but did not exit: {page}\n{said}");
        assert!(number < TRIES, "chromium does not run here: {said}");
    }
    unreachable!("the last try returns or panics")
}

/// Runs the browser once; writes the document to `chromium.out` and the log to `chromium.err`. Returns whether it
/// exited successfully; after [`PATIENCE`] it is killed.
fn run(place: &Place, url: &str, options: &[String]) -> bool {
    let program = std::env::var("MYRIAD_CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    let file = |name: &str| File::create(place.path(name)).expect("an output file");
    let mut command = Command::new(&program);
    command
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ])
        .args([
            "--ignore-certificate-errors",
            "--disable-background-networking",
            "--disable-component-update",
        ])
        // The browser cannot reach any other machine, regardless of the network.
        .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        .args(["--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", place.path("profile").display()))
        .args(options)
        .arg(url)
        .env("HOME", place.folder())
        .stdin(Stdio::null())
        .stdout(file("chromium.out"))
        .stderr(file("chromium.err"))
        .process_group(0);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{}", missing(&program, &error)));
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("the browser's state") {
            return status.success();
        }
        if Instant::now() > deadline {
            signal_group(child.id(), Signal::KILL);
            child.wait().expect("the browser's end");
            return false;
        }
        sleep(Duration::from_millis(20));
    }
}
