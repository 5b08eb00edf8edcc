//! User variables: those that a configuration defines by `set`, `map`, `geo`, `split_clients` and named captures.

use std::sync::{Arc, OnceLock};

use crate::environment::{Builtin, Environment};
use crate::error::EvalError;
use crate::frame::{Frame, SlotKind};
use crate::lazy::Lazy;

/// User variable: its slot in the [`Frame`], and the way to compute it while it is unset.
#[derive(Debug)]
pub struct Variable {
    name: Box<str>,
    slot: u32,
    /// Variable of the embedder with the same name (`$http_*`, `$arg_*`). Its value is read while the user variable is
    /// unset; `None` if the embedder has no such variable.
    shadowed: Option<Builtin>,
    /// Computation by a block such as `map`, bound by `Compiler::finish`; empty for variables without a block, which
    /// only `set`, captures or the embedder assign.
    lazy: OnceLock<Lazy>,
    /// Set if the variable is assigned by something other than its block: a `set`, a capture, or the embedder.
    assigned: OnceLock<()>,
}

impl Variable {
    pub(crate) fn new(name: &str, slot: u32, shadowed: Option<Builtin>) -> Arc<Variable> {
        Arc::new(Variable {
            name: name.into(),
            slot,
            shadowed,
            lazy: OnceLock::new(),
            assigned: OnceLock::new(),
        })
    }

    /// Returns the name of the variable, in lower case, without `$`.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn slot(&self) -> u32 {
        self.slot
    }

    /// Returns the variable of the embedder with the same name, if there is one.
    pub(crate) fn shadowed(&self) -> Option<Builtin> {
        self.shadowed
    }

    pub(crate) fn bind(&self, lazy: Lazy) {
        // A second binding cannot occur, because `Compiler::finish` consumes the compiler.
        let _ = self.lazy.set(lazy);
    }

    pub(crate) fn mark_assigned(&self) {
        let _ = self.assigned.set(());
    }

    /// Returns whether something other than a block such as `map` may have assigned a value.
    pub(crate) fn is_assigned(&self) -> bool {
        self.assigned.get().is_some()
    }

    /// Returns whether the value is always computed by a block, from variables of the embedder that `allowed` accepts,
    /// within `depth` nested blocks.
    pub(crate) fn reads_only(&self, allowed: &dyn Fn(Builtin) -> bool, depth: u8) -> bool {
        !self.is_assigned() && self.lazy.get().is_some_and(|lazy| lazy.reads_only(allowed, depth))
    }

    /// Assigns `value` to the variable for the request of `frame`, as `set` does.
    pub fn assign(&self, frame: &mut Frame, value: &[u8]) {
        frame.assign(self.slot, value);
    }

    /// Appends the value to `out`. Returns false, without a value, if the variable is unset, is not computed by a block
    /// such as `map`, and hides a variable of the embedder: the caller must then read the hidden one.
    pub fn read<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        out: &mut Vec<u8>,
    ) -> Result<bool, EvalError> {
        if self.shadowed.is_some() && self.lazy.get().is_none() && !frame.is_set(self.slot) {
            return Ok(false);
        }
        self.ensure(env, frame)?;
        out.extend_from_slice(frame.slot(self.slot));
        Ok(true)
    }

    /// Ensures that the slot of the variable contains its value: computes it, reads the hidden variable of the
    /// embedder, or sets it to an empty value.
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
            if let Some(id) = self.shadowed {
                return self.show(id, env, frame);
            }
            env.uninitialized(&self.name);
            frame.assign(self.slot, b"");
            return Ok(());
        };
        frame.enter(&self.name)?;
        let mut value = frame.take_buffer();
        let computed = lazy.eval(env, frame, &mut value);
        frame.leave();
        if computed.is_ok() {
            let kind = if lazy.is_volatile() { SlotKind::Volatile } else { SlotKind::Computed };
            frame.store(self.slot, &mut value, kind);
        }
        frame.give_buffer(value);
        computed
    }

    /// Stores the value of the embedder's variable in the slot as volatile: it is read again each time.
    fn show<E: Environment + ?Sized>(
        &self,
        id: Builtin,
        env: &E,
        frame: &mut Frame,
    ) -> Result<(), EvalError> {
        let mut value = frame.take_buffer();
        let shown = match env.variable_ref(id) {
            Some(shown) => {
                value.extend_from_slice(shown.unwrap_or_default());
                Ok(true)
            }
            None => env.variable(id, frame, &mut value),
        };
        frame.store(self.slot, &mut value, SlotKind::Volatile);
        frame.give_buffer(value);
        shown.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use crate::frame::Frame;
    use crate::testing::{Request, compiler};

    #[test]
    fn an_unset_variable_lets_the_one_of_that_name_show_through() {
        let mut compiler = compiler();
        compiler.declare_set("$http_foo").unwrap();
        let template = compiler.template("<$http_foo>").unwrap();
        let variable = compiler.variables().next().unwrap().clone();
        let request = Request::new(compiler.finish().unwrap()).with("http_foo", "sent");
        let mut frame = Frame::new();
        let shown = |frame: &mut Frame| {
            let mut out = Vec::new();
            template.eval(&request, frame, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(shown(&mut frame), "<sent>");
        assert_eq!(variable.read(&request, &mut frame, &mut Vec::new()), Ok(false));
        variable.assign(&mut frame, b"set");
        assert_eq!(shown(&mut frame), "<set>");
        let mut out = Vec::new();
        assert_eq!(variable.read(&request, &mut frame, &mut out), Ok(true));
        assert_eq!(out, b"set");
    }
}
