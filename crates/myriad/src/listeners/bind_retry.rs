//! Retries for addresses that another process has bound briefly.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Number of attempts and the pause between them: a stopped server may need a moment to close its sockets.
const BIND_ATTEMPTS: u32 = 4;
const BIND_PAUSE: Duration = Duration::from_millis(100);

/// Binds, and retries while another process has bound the address.
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
