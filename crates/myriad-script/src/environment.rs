//! Interface to the embedder (the code that uses this crate): its variables, the URI of the request, and file tests.

use std::fmt;

use crate::functions::{ConstantInputs, FunctionInputs};

use crate::error::EvalError;
use crate::frame::Frame;
use crate::trace::Trace;

/// Identifier of a variable that the embedder provides; the embedder chooses the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Builtin(pub u32);

/// Use that a configuration may make of the name of a variable of the embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableRole {
    /// Read-only (`$host`). Definitions by `set`, `map` or captures are rejected as duplicates, as in nginx.
    Fixed,
    /// Assignable (`$args`, `$limit_rate`): `set` and functions call [`Environment::assign`]. Definitions by `map` or
    /// captures are rejected as duplicates.
    Assignable,
    /// Name with a prefix (`$http_*`, `$arg_*`, `$cookie_*`), or a name that configurations define themselves
    /// (`$proxy_host`). A variable with this name that the configuration defines hides it; while that variable is
    /// unset, the value of the embedder's variable is read.
    Shadowable,
}

/// Names of the embedder's variables, resolved while a configuration is compiled.
pub trait Catalogue {
    /// Returns the variable with this name (in lower case, without `$`) and its role; `None` if the embedder has none.
    fn builtin(&mut self, name: &str) -> Option<(Builtin, VariableRole)>;

    /// Returns the names that may be suggested in the error for an unknown name.
    fn names(&self) -> &[&str] {
        &[]
    }

    /// Returns the reason why a variable of nginx is not supported; `None` for all other names.
    fn refusal(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Returns the third-party module or other server that has a variable with this name, and what to use instead;
    /// `None` if unknown.
    fn other_module(&self, _name: &str) -> Option<(&'static str, &'static str)> {
        None
    }
}

/// File test of an `if`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileTest {
    /// `-f`: a regular file.
    File,
    /// `-d`: a directory.
    Directory,
    /// `-e`: anything that exists.
    Exists,
    /// `-x`: an executable file.
    Executable,
}

/// Interface of a request to the scripts that process it.
pub trait Environment {
    /// Returns whether [`Environment::trace`] is to be called.
    fn traces(&self) -> bool {
        false
    }

    /// Receives each evaluated directive and map, if [`Environment::traces`] returns true.
    fn trace(&self, _what: Trace<'_>) {}

    /// Appends the value of a variable to `out`. Returns `Ok(false)` if the variable does not exist for this request.
    ///
    /// `frame` is used for variables that are templates themselves (`$document_root`).
    fn variable(&self, id: Builtin, frame: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError>;

    /// Returns a reference to the value of a variable if this needs no computation. It is the fast path, tried before
    /// [`Environment::variable`].
    ///
    /// `None` means that the value must be computed by [`Environment::variable`]. `Some(None)` means that the variable
    /// does not exist for this request.
    fn variable_ref(&self, id: Builtin) -> Option<Option<&[u8]>> {
        let _ = id;
        None
    }

    /// Returns whether the values of a variable, for any client, consist of printable ASCII without quotes and
    /// backslashes (numbers, addresses, dates). Such values need no escaping in logs.
    fn is_plain(&self, id: Builtin) -> bool {
        let _ = id;
        false
    }

    /// Assigns a value to a variable with the role [`VariableRole::Assignable`].
    fn assign(&mut self, id: Builtin, value: &[u8]) -> Result<(), EvalError> {
        let _ = (id, value);
        Ok(())
    }

    /// Receives the status of a `return` with a text before the text is evaluated, because the text may read it
    /// (`$status`).
    fn note_return(&mut self, status: u16) {
        let _ = status;
    }

    /// Returns the result of a file test of `if`; by default false. `frame` is used for templates that restrict path
    /// lookups (`disable_symlinks`).
    fn file_test(&self, test: FileTest, path: &[u8], frame: &mut Frame) -> bool {
        let _ = (test, path, frame);
        false
    }

    /// Returns the external inputs of functions. By default the time is the Unix epoch, and random bytes are not
    /// available.
    fn surroundings(&self) -> &dyn FunctionInputs {
        &ConstantInputs
    }

    /// Returns the current URI: decoded, normalized, without arguments. `rewrite` is matched against it.
    fn uri(&self) -> &[u8];

    /// Returns the current arguments, without `?`; empty if the request has none.
    fn args(&self) -> &[u8];

    /// Returns whether the URI as sent contained `%xx` or `+`. Only then does nginx escape captures again in redirects
    /// and arguments.
    fn uri_was_escaped(&self) -> bool;

    /// Sets the URI (never empty) and all arguments (without `?`; empty for none) that a `rewrite` produced.
    fn rewrite(&mut self, uri: &[u8], args: &[u8]);

    /// Reports that a user variable was read before it was set (`uninitialized_variable_warn`).
    fn uninitialized(&self, name: &str) {
        let _ = name;
    }

    /// Returns whether `rewrite_log` is on: then [`Environment::rewrite_notice`] is called.
    fn rewrite_log(&self) -> bool {
        false
    }

    /// Logs a message of `rewrite_log` at level notice.
    fn rewrite_notice(&self, message: fmt::Arguments<'_>) {
        let _ = message;
    }
}
