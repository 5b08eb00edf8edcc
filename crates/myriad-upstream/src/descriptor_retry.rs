//! Retries of opening a file or socket while the process is out of descriptors.

use std::io;
use std::time::Duration;

use rustix::io::Errno;

/// Maximum number of attempts to open a file or socket again; [`WAIT`] is the delay before each, two seconds in total.
const TRIES: usize = 40;
const WAIT: Duration = Duration::from_millis(50);

/// Opens a file or a socket. Retries for two seconds if the process or the machine is out of descriptors (`EMFILE`,
/// `ENFILE`). `make_descriptors` makes other users release descriptors before each retry. Other errors are returned
/// immediately.
pub async fn with_descriptor<T>(
    open: impl AsyncFnMut() -> io::Result<T>,
    make_descriptors: impl Fn(),
) -> io::Result<T> {
    waiting(open, make_descriptors, WAIT).await
}

async fn waiting<T>(
    mut open: impl AsyncFnMut() -> io::Result<T>,
    make_descriptors: impl Fn(),
    wait: Duration,
) -> io::Result<T> {
    for _ in 0..TRIES {
        let opened = open().await;
        let errno = opened.as_ref().err().and_then(Errno::from_io_error);
        if !matches!(errno, Some(Errno::MFILE | Errno::NFILE)) {
            return opened;
        }
        make_descriptors();
        tokio::time::sleep(wait).await;
    }
    open().await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Runs `waiting` with `errno` as the result of the first `short` attempts. Returns the result, the number of
    /// attempts and the number of calls of `make_descriptors`.
    fn tried(short: usize, errno: Errno) -> (io::Result<()>, usize, usize) {
        let (tries, asked) = (Cell::new(0), Cell::new(0));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let result = runtime.unwrap().block_on(waiting(
            async || {
                tries.set(tries.get() + 1);
                if tries.get() > short { Ok(()) } else { Err(errno.into()) }
            },
            || asked.set(asked.get() + 1),
            Duration::ZERO,
        ));
        (result, tries.get(), asked.get())
    }

    #[test]
    fn a_shortage_that_passes_is_waited_for_while_others_give_way() {
        for errno in [Errno::MFILE, Errno::NFILE] {
            let (result, tries, asked) = tried(3, errno);
            assert!(result.is_ok());
            assert_eq!((tries, asked), (4, 3));
        }
    }

    #[test]
    fn persistent_descriptor_shortage_and_other_errors_are_returned() {
        let (result, tries, asked) = tried(usize::MAX, Errno::MFILE);
        assert_eq!(result.unwrap_err().raw_os_error(), Some(Errno::MFILE.raw_os_error()));
        assert_eq!((tries, asked), (TRIES + 1, TRIES));
        let (result, tries, asked) = tried(usize::MAX, Errno::ACCESS);
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!((tries, asked), (1, 0));
    }
}
