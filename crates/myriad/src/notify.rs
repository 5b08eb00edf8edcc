//! Messages to the init system by the protocol of `sd_notify(3)`: one datagram of `NAME=value` lines for each message,
//! sent to the socket in `NOTIFY_SOCKET`.
//!
//! ```text
//! starting --READY--> running --STOPPING-----> stopping
//!                     |  ^  '--MAINPID=new pid--> the new binary is the service
//!            RELOADING|  |READY                WATCHDOG periodically
//!                     v  |
//!                  reloading
//! ```
//!
//! A unit with `NotifyAccess=main` accepts messages only from the main process. In an upgrade, the old supervisor
//! therefore sends the process ID of the new one. Earlier messages of the new one are lost, except `WATCHDOG`, which is
//! repeated.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Environment variable with the address of the socket: a path, or `@` and an abstract name.
const SOCKET: &str = "NOTIFY_SOCKET";
/// Environment variable with the watchdog timeout in microseconds. The init system terminates a service that sends no
/// watchdog message within this time.
const WATCHDOG: &str = "WATCHDOG_USEC";
/// Environment variable with the ID of the process that must send watchdog messages to the init system.
pub(crate) const WATCHDOG_PROCESS: &str = "WATCHDOG_PID";
/// Maximum time for sending a message to the init system, which blocks the supervisor.
const PATIENCE: Duration = Duration::from_secs(1);

/// Init system that started this process, if it accepts messages; otherwise nothing is sent.
#[derive(Debug, Default)]
pub(crate) struct InitSystem {
    socket: Option<(UnixDatagram, SocketAddr)>,
    beat: Option<WatchdogSchedule>,
}

/// Schedule of watchdog messages to the init system: twice as often as it requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WatchdogSchedule {
    every: Duration,
    next: Instant,
}

impl InitSystem {
    /// Reads the environment of this process. If the socket cannot be used, no messages are sent, and the returned text
    /// contains the reason.
    pub(crate) fn from_environment() -> (Self, Option<String>) {
        let Some(name) = std::env::var_os(SOCKET).filter(|name| !name.is_empty()) else {
            return (Self::default(), None);
        };
        let beat = watchdog_interval(
            std::env::var(WATCHDOG).ok().as_deref(),
            std::env::var(WATCHDOG_PROCESS).ok().as_deref(),
            std::process::id(),
        );
        match socket(&name) {
            Ok(socket) => {
                let every = beat.map(|every| WatchdogSchedule { every, next: Instant::now() + every });
                (Self { socket: Some(socket), beat: every }, None)
            }
            Err(error) => {
                let text = format!(
                    "{SOCKET} \"{}\" is not a usable socket ({error}): no notifications are sent to the init system",
                    name.to_string_lossy()
                );
                (Self::default(), Some(text))
            }
        }
    }

    /// Reports that the server accepts connections. `status` is shown by `systemctl status`.
    pub(crate) fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nMAINPID={}\nSTATUS={}", std::process::id(), one_line(status)));
    }

    /// Reports the start of a reload. The next `READY` completes it, whether the new configuration was accepted or
    /// rejected.
    pub(crate) fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let now_us = now.tv_sec.cast_unsigned() * 1_000_000 + now.tv_nsec.cast_unsigned() / 1000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={now_us}"));
    }

    /// Reports that the server, and with it the service, is stopping.
    pub(crate) fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// Reports that `process` becomes the main process of the service, because this process is about to exit.
    pub(crate) fn main_process_changed(&self, process: u32) {
        self.send(&format!("MAINPID={process}"));
    }

    /// Returns the time of the next watchdog message; `None` without a watchdog.
    pub(crate) fn next_beat(&self) -> Option<Instant> {
        self.beat.map(|beat| beat.next)
    }

    /// Sends a watchdog message if one is due.
    pub(crate) fn keep_alive(&mut self, now: Instant) {
        if let Some(beat) = self.beat.as_mut().filter(|beat| now >= beat.next) {
            beat.next = now + beat.every;
            self.send("WATCHDOG=1");
        }
    }

    /// Sends one message. Errors are ignored: an init system that misses a message reports that itself.
    fn send(&self, message: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(message.as_bytes(), address);
        }
    }
}

fn socket(name: &OsStr) -> io::Result<(UnixDatagram, SocketAddr)> {
    let address = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        [b'/', ..] => SocketAddr::from_pathname(name)?,
        _ => return Err(io::Error::other("neither an absolute path nor an abstract name")),
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok((socket, address))
}

/// Returns the interval of watchdog messages, from the values of [`WATCHDOG`] and [`WATCHDOG_PROCESS`]; `own` is the ID
/// of this process. Returns `None` if there is no watchdog, or if it is for another process.
fn watchdog_interval(microseconds: Option<&str>, process: Option<&str>, own: u32) -> Option<Duration> {
    let limit_us: u64 = microseconds?.parse().ok().filter(|limit| *limit > 0)?;
    let is_other = process.is_some_and(|process| process.parse() != Ok(own));
    (!is_other).then(|| Duration::from_micros((limit_us / 2).max(1)))
}

/// Replaces control characters by spaces, because a line break would start another variable.
fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_life_come_twice_as_often_as_they_are_wanted() {
        let half = Some(Duration::from_secs(15));
        assert_eq!(watchdog_interval(Some("30000000"), None, 7), half);
        assert_eq!(watchdog_interval(Some("30000000"), Some("7"), 7), half);
        for (microseconds, process) in [
            (None, None),
            (Some("0"), None),
            (Some("soon"), None),
            (Some("-1"), None),
            (Some("30000000"), Some("8")),
            (Some("30000000"), Some("me")),
        ] {
            assert_eq!(watchdog_interval(microseconds, process, 7), None, "{microseconds:?} {process:?}");
        }
    }

    #[test]
    fn message_arrives_at_an_abstract_name() {
        let name = format!("myriad-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let init = UnixDatagram::bind_addr(&address).expect("a socket");
        let init_system = InitSystem { socket: socket(format!("@{name}").as_ref()).ok(), beat: None };
        init_system.main_process_changed(42);
        init_system.ready("two\nlines=1");
        let mut bytes = [0; 256];
        let mut next = || {
            let length = init.recv(&mut bytes).expect("a message");
            String::from_utf8_lossy(&bytes[..length]).into_owned()
        };
        assert_eq!(next(), "MAINPID=42");
        assert_eq!(next(), format!("READY=1\nMAINPID={}\nSTATUS=two lines=1", std::process::id()));
    }

    #[test]
    fn names_of_other_kinds_are_refused() {
        for name in ["relative", "vsock:2:1234"] {
            assert!(socket(name.as_ref()).is_err(), "{name}");
        }
        let long = format!("/{}", "x".repeat(200));
        assert!(socket(long.as_ref()).is_err());
    }
}
