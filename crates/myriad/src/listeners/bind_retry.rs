//! Retries of binding an address, for a stopped server that needs a moment to close its sockets.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Maximum number of attempts to bind an address that is in use.
const BIND_ATTEMPTS: u32 = 4;
const BIND_PAUSE: Duration = Duration::from_millis(100);

/// Calls `bind`, and again after a pause while the address is in use, at most [`BIND_ATTEMPTS`] times in total. Returns
/// its last result.
pub(super) fn bind_with_retries(bind: impl Fn() -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
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
