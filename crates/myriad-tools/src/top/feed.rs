//! Ticks, purges and ranked pages from the control socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use myriad_admin::protocol::Reply;
use myriad_admin::protocol::sight::{Tick, TopPage};

use super::event::Event;
use myriad_cli::admin::Running;
use myriad_cli::pidfile::reason;

/// Rankings, in the order of the views that show them.
pub(super) const RANKINGS: [&str; 3] = ["requests", "misses", "slow"];

/// Maximum length of a line of a response, in bytes.
const LONGEST: u64 = 16 << 20;
/// Maximum time without data: a tick arrives every second.
const SILENCE: Duration = Duration::from_secs(15);
/// Interval of queries for rankings, and of attempts to reconnect to a server.
const PAUSE: Duration = Duration::from_secs(2);

/// Sends a query and passes each line of the response to `tell` until it returns `false` or the response is complete.
fn ask(running: &Running, question: &str, mut tell: impl FnMut(Reply) -> bool) -> Result<(), String> {
    let mut stream = running.reach()?;
    stream.set_read_timeout(Some(SILENCE)).map_err(|error| reason(&error))?;
    let sent = stream.write_all(format!("{question}\n").as_bytes());
    let mut lines = BufReader::with_capacity(64 << 10, stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut lines).take(LONGEST).read_until(b'\n', &mut line).map_err(|error| reason(&error))?;
        if read == 0 {
            let why = sent.err().map(|error| format!(" ({})", reason(&error))).unwrap_or_default();
            return Err(format!("the server closed the connection during the response{why}"));
        }
        match Reply::parse(&line).map_err(|error| format!("invalid response from the server: {error}"))? {
            Reply::End(_) => return Ok(()),
            Reply::Error(error) => return Err(error),
            line => {
                if !tell(line) {
                    return Ok(());
                }
            }
        }
    }
}

/// Returns the next `count` ticks.
pub(super) fn ticks(running: &Running, count: u64) -> Result<Vec<Tick>, String> {
    let mut ticks = Vec::new();
    ask(running, &format!("{{\"live\":{{\"ticks\":{count}}}}}"), |line| {
        if let Reply::Tick(tick) = line {
            ticks.push(*tick);
        }
        true
    })?;
    Ok(ticks)
}

/// Returns a ranking of pages.
pub(super) fn ranking(running: &Running, by: &str) -> Result<Vec<TopPage>, String> {
    let mut pages = Vec::new();
    ask(running, &format!("{{\"tops\":{{\"by\":\"{by}\",\"limit\":100}}}}"), |line| {
        if let Reply::Tops(tops) = line {
            pages = tops.pages;
        }
        true
    })?;
    Ok(pages)
}

/// Starts sending events. If the server disconnects, reconnection is attempted until it succeeds.
///
/// # Errors
/// Returns an error if no server responds initially.
pub(super) fn start(running: &Running, sender: &Sender<Event>) -> Result<(), String> {
    ticks(running, 1)?;
    let (server, events) = (running.clone(), sender.clone());
    thread::spawn(move || {
        loop {
            let mut is_new = true;
            let ended = ask(&server, "{\"live\":{\"ticks\":0}}", |line| {
                if std::mem::take(&mut is_new) && events.send(Event::Connected).is_err() {
                    return false;
                }
                let event = match line {
                    Reply::Tick(tick) => Event::Tick(tick),
                    Reply::PurgeEvent(purge) => Event::Purge(*purge),
                    _ => return true,
                };
                events.send(event).is_ok()
            });
            // A reload closes the stream, too.
            let why = ended.err().unwrap_or_else(|| "the server closed the stream".to_owned());
            if events.send(Event::Broken(why)).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(500));
        }
    });
    let (server, events) = (running.clone(), sender.clone());
    thread::spawn(move || {
        loop {
            for by in RANKINGS {
                if let Ok(pages) = ranking(&server, by)
                    && events.send(Event::Ranking(by, pages)).is_err()
                {
                    return;
                }
            }
            thread::sleep(PAUSE);
        }
    });
    Ok(())
}
