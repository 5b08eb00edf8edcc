//! Interim responses, passed to the driver of a multiplexed connection.

use std::cell::RefCell;
use std::task::Waker;

/// Interim (1xx) response to be sent before the response (RFC 9110 section 15.2).
pub struct Interim {
    /// Number of the request on its connection.
    pub request: u32,
    /// Status from 100 to 199, usually 103.
    pub status: u16,
    /// Field lines, each terminated by CRLF.
    pub lines: Box<[u8]>,
}

/// Queue of interim (1xx) responses for the driver of an HTTP/2 or HTTP/3 connection.
#[derive(Default)]
pub struct Interims {
    waiting: RefCell<Vec<Interim>>,
    driver: RefCell<Option<Waker>>,
}

impl Interims {
    /// Sets the waker of the driver, called for new interim responses and on eviction.
    pub fn set_driver(&self, driver: &Waker) {
        *self.driver.borrow_mut() = Some(driver.clone());
    }

    /// Adds an interim response to the queue, and wakes the driver.
    pub(crate) fn push(&self, interim: Interim) {
        self.waiting.borrow_mut().push(interim);
        self.wake_driver();
    }

    /// Wakes the driver without adding an interim response, for example on eviction.
    pub(crate) fn wake_driver(&self) {
        if let Some(driver) = &*self.driver.borrow() {
            driver.wake_by_ref();
        }
    }

    /// Removes and returns the queued interim responses.
    pub fn take(&self) -> Vec<Interim> {
        std::mem::take(&mut self.waiting.borrow_mut())
    }
}
