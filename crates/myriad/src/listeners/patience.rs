//! Addresses that another has for a moment.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// A server that was just stopped may need a moment to let its sockets go.
const BIND_ATTEMPTS: u32 = 4;
const BIND_PAUSE: Duration = Duration::from_millis(100);

/// Binds, and tries again where another has the address for a moment.
pub(super) fn patiently(bind: impl Fn() -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    let mut attempt = 1;
    loop {
        match bind() {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && attempt < BIND_ATTEMPTS => {
                attempt += 1;
                std::thread::sleep(BIND_PAUSE);
            }
            other => return other,
        }
    }
}
