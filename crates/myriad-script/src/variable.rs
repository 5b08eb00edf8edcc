//! Variables that the configuration makes: by `set`, `map`, `geo`, `split_clients` and named captures.

use std::sync::{Arc, OnceLock};

use crate::environment::{Builtin, Environment};
use crate::error::EvalError;
use crate::frame::Frame;
use crate::lazy::Lazy;

/// A user variable: its place in the [`Frame`], and how to compute it if nothing has set it.
#[derive(Debug)]
pub struct Variable {
    name: Box<str>,
    slot: u32,
    /// Bound by `Compiler::finish`; empty for variables of `set` and of captures.
    lazy: OnceLock<Lazy>,
    /// Something besides `lazy` gives it values: a `set`, a capture, the embedder.
    assigned: OnceLock<()>,
}

impl Variable {
    pub(crate) fn new(name: &str, slot: u32) -> Arc<Variable> {
        Arc::new(Variable { name: name.into(), slot, lazy: OnceLock::new(), assigned: OnceLock::new() })
    }

    /// The name, lower-case, without `$`.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn slot(&self) -> u32 {
        self.slot
    }

    pub(crate) fn bind(&self, lazy: Lazy) {
        // A second binding cannot happen: the compiler is consumed by the first.
        let _ = self.lazy.set(lazy);
    }

    pub(crate) fn mark_assigned(&self) {
        let _ = self.assigned.set(());
    }

    /// Whether the value is always computed, by something that reads no other variables than the allowed ones.
    pub(crate) fn reads_only(&self, allowed: &dyn Fn(Builtin) -> bool, depth: u8) -> bool {
        self.assigned.get().is_none() && self.lazy.get().is_some_and(|lazy| lazy.reads_only(allowed, depth))
    }

    /// Puts a value into the frame, as `set` would; for variables that the embedder computes itself.
    pub fn assign(&self, frame: &mut Frame, value: &[u8]) {
        frame.assign(self.slot, value);
    }

    /// Makes sure that the frame holds a value: computes a map, or leaves an unset variable empty.
    #[inline]
    pub(crate) fn ensure<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
    ) -> Result<(), EvalError> {
        if frame.is_set(self.slot) {
            return Ok(());
        }
        self.compute(env, frame)
    }

    #[cold]
    fn compute<E: Environment + ?Sized>(&self, env: &E, frame: &mut Frame) -> Result<(), EvalError> {
        let Some(lazy) = self.lazy.get() else {
            env.uninitialized(&self.name);
            frame.assign(self.slot, b"");
            return Ok(());
        };
        frame.enter(&self.name)?;
        let mut value = frame.take_buffer();
        let computed = lazy.eval(env, frame, &mut value);
        frame.leave();
        if computed.is_ok() {
            frame.store(self.slot, &mut value, lazy.is_volatile());
        }
        frame.give_buffer(value);
        computed
    }
}
