//! Live events and ranked pages, from the control socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use myriad_admin::protocol::AdminReply;
use myriad_admin::protocol::monitoring::{LiveTick, TopPage};

use super::event::TopEvent;
use myriad_cli::admin::RunningServer;
use myriad_cli::pidfile::reason;

/// Names of the rankings of pages that the server provides, in the order in which `myriad top` shows them.
pub(super) const RANKINGS: [&str; 3] = ["requests", "misses", "slow"];

/// Maximum length of a line of the server's reply, in bytes.
const LONGEST: u64 = 16 << 20;
/// Maximum time without data from the server. A live event arrives every second, so a longer silence means that the
/// server hangs.
const SILENCE: Duration = Duration::from_secs(15);
/// Interval at which rankings of pages are requested.
const PAUSE: Duration = Duration::from_secs(2);

/// Sends the request `question` to the server and passes each line of the reply to `tell`, until `tell` returns `false`
/// or the reply is complete. Returns an error if the connection fails, the server closes it early, sends no data for
/// [`SILENCE`], or reports an error.
fn query(
    running: &RunningServer,
    question: &str,
    mut tell: impl FnMut(AdminReply) -> bool,
) -> Result<(), String> {
    let mut stream = running.connect()?;
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
        match AdminReply::parse(&line)
            .map_err(|error| format!("invalid response from the server: {error}"))?
        {
            AdminReply::End(_) => return Ok(()),
            AdminReply::Error(error) => return Err(error),
            line => {
                if !tell(line) {
                    return Ok(());
                }
            }
        }
    }
}

/// Returns the next `count` live events (ticks) of the server, one per second.
pub(super) fn ticks(running: &RunningServer, count: u64) -> Result<Vec<LiveTick>, String> {
    let mut ticks = Vec::new();
    query(running, &format!("{{\"live\":{{\"ticks\":{count}}}}}"), |line| {
        if let AdminReply::Tick(tick) = line {
            ticks.push(*tick);
        }
        true
    })?;
    Ok(ticks)
}

/// Returns the first 100 pages of the ranking `by` (one of [`RANKINGS`]).
pub(super) fn ranking(running: &RunningServer, by: &str) -> Result<Vec<TopPage>, String> {
    let mut pages = Vec::new();
    query(running, &format!("{{\"tops\":{{\"by\":\"{by}\",\"limit\":100}}}}"), |line| {
        if let AdminReply::Tops(tops) = line {
            pages = tops.pages;
        }
        true
    })?;
    Ok(pages)
}

/// Starts two threads that send live events and rankings to `sender`. If the server disconnects, they reconnect.
///
/// # Errors
/// Returns an error if no server responds at the start.
pub(super) fn start(running: &RunningServer, sender: &Sender<TopEvent>) -> Result<(), String> {
    ticks(running, 1)?;
    let (server, events) = (running.clone(), sender.clone());
    thread::spawn(move || {
        loop {
            let mut is_new = true;
            let result = query(&server, "{\"live\":{\"ticks\":0}}", |line| {
                if std::mem::take(&mut is_new) && events.send(TopEvent::Connected).is_err() {
                    return false;
                }
                let event = match line {
                    AdminReply::Tick(tick) => TopEvent::Tick(tick),
                    AdminReply::PurgeEvent(purge) => TopEvent::Purge(*purge),
                    _ => return true,
                };
                events.send(event).is_ok()
            });
            // A reload also closes the stream.
            let why = result.err().unwrap_or_else(|| "the server closed the stream".to_owned());
            if events.send(TopEvent::Broken(why)).is_err() {
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
                    && events.send(TopEvent::Ranking(by, pages)).is_err()
                {
                    return;
                }
            }
            thread::sleep(PAUSE);
        }
    });
    Ok(())
}
