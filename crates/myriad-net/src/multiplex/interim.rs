//! Interim responses on their way to a driver.

use std::cell::RefCell;
use std::task::Waker;

/// What is said ahead of an answer (RFC 9110 section 15.2).
pub struct Interim {
    /// Number of the request on its connection.
    pub request: u32,
    /// 103, or another below 200.
    pub status: u16,
    /// Field lines, each ended by CRLF.
    pub lines: Box<[u8]>,
}

/// Interim responses that wait for the driver of their connection.
#[derive(Default)]
pub struct Interims {
    waiting: RefCell<Vec<Interim>>,
    driver: RefCell<Option<Waker>>,
}

impl Interims {
    /// Sets who is woken when there is one.
    pub fn set_driver(&self, driver: &Waker) {
        *self.driver.borrow_mut() = Some(driver.clone());
    }

    /// Hands one over.
    pub(crate) fn push(&self, interim: Interim) {
        self.waiting.borrow_mut().push(interim);
        self.wake_driver();
    }

    /// Wakes who sends them: there is something to be said.
    pub(crate) fn wake_driver(&self) {
        if let Some(driver) = &*self.driver.borrow() {
            driver.wake_by_ref();
        }
    }

    /// Takes those that wait.
    pub fn take(&self) -> Vec<Interim> {
        std::mem::take(&mut self.waiting.borrow_mut())
    }
}
