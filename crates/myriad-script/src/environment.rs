//! Interface to the embedder: its variables, the URI of the request, and file tests.

use std::fmt;

use crate::functions::{ConstantInputs, FunctionInputs};

use crate::error::EvalError;
use crate::frame::Frame;
use crate::trace::Trace;

/// Identifies a variable that the embedder provides. The number is chosen by the embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Builtin(pub u32);

/// Operations that a configuration may perform on a variable of the embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableRole {
    /// Read-only (`$host`): `set`, `map` and captures are rejected, as nginx rejects a duplicate variable.
    Fixed,
    /// `set` calls [`Environment::assign`] (`$args`, `$limit_rate`).
    Assignable,
    /// Name with a prefix (`$http_*`, `$arg_*`, `$cookie_*`), or a name that configurations reuse (`$proxy_host`): a
    /// user variable with this name hides it.
    Shadowable,
}

/// Resolves variable names while a configuration is compiled.
pub trait Catalogue {
    /// Returns a variable by its lower-case name, without `$`.
    fn builtin(&mut self, name: &str) -> Option<(Builtin, VariableRole)>;

    /// Returns the names for suggestions about an unknown name.
    fn names(&self) -> &[&str] {
        &[]
    }

    /// Returns the reason why a variable of nginx is not supported; `None` for other names.
    fn refusal(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Returns the third-party module or other server that has a variable, and what to use instead.
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
    /// `-e`: a file, a directory or a symbolic link.
    Exists,
    /// `-x`: an executable file.
    Executable,
}

/// Interface of a request for the scripts that process it.
pub trait Environment {
    /// Returns whether [`Environment::trace`] should be called; called once per program.
    fn traces(&self) -> bool {
        false
    }

    /// Receives each evaluated directive or table.
    fn trace(&self, _what: Trace<'_>) {}

    /// Appends the value of a variable to `out`. Returns `Ok(false)` if it does not exist for this request.
    ///
    /// `frame` is used for variables that are templates themselves (`$document_root`).
    fn variable(&self, id: Builtin, frame: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError>;

    /// Returns a reference to the value of a variable if available without computation. This is the fast path and tried
    /// first.
    ///
    /// `None` means not available by reference: use [`Environment::variable`]. `Some(None)` means that the variable
    /// does not exist for this request.
    fn variable_ref(&self, id: Builtin) -> Option<Option<&[u8]>> {
        let _ = id;
        None
    }

    /// Returns whether all values of a variable are printable ASCII without quotes and backslashes for any client:
    /// numbers, addresses, dates. Then no escape changes them.
    fn is_plain(&self, id: Builtin) -> bool {
        let _ = id;
        false
    }

    /// Assigns the value of a `set` to a variable of [`VariableRole::Assignable`].
    fn assign(&mut self, id: Builtin, value: &[u8]) -> Result<(), EvalError> {
        let _ = (id, value);
        Ok(())
    }

    /// Receives the status of a `return` before its text is evaluated, which may read it (`$status`).
    fn note_return(&mut self, status: u16) {
        let _ = status;
    }

    /// Performs the test `-f`, `-d`, `-e` or `-x`. `frame` is used for templates that restrict path lookups
    /// (`disable_symlinks`).
    fn file_test(&self, test: FileTest, path: &[u8], frame: &mut Frame) -> bool {
        let _ = (test, path, frame);
        false
    }

    /// Returns the inputs of functions that are independent of texts. By default, nothing is random and the time is
    /// constant.
    fn surroundings(&self) -> &dyn FunctionInputs {
        &ConstantInputs
    }

    /// Returns the current URI: decoded, normalized, without arguments. `rewrite` matches against it.
    fn uri(&self) -> &[u8];

    /// Returns the current arguments, without `?`; empty if the request has none.
    fn args(&self) -> &[u8];

    /// Returns whether the URI as sent contained `%xx` or `+`. Only then does nginx escape captures in redirects and
    /// arguments.
    fn uri_was_escaped(&self) -> bool;

    /// Sets a rewritten URI (never empty) and the complete new arguments (without `?`; empty for none).
    fn rewrite(&mut self, uri: &[u8], args: &[u8]);

    /// Reports that an unset user variable was read (`uninitialized_variable_warn`).
    fn uninitialized(&self, name: &str) {
        let _ = name;
    }

    /// Returns whether `rewrite_log` is on, so that [`Environment::rewrite_notice`] should be called.
    fn rewrite_log(&self) -> bool {
        false
    }

    /// Logs a message of `rewrite_log` at level notice.
    fn rewrite_notice(&self, message: fmt::Arguments<'_>) {
        let _ = message;
    }
}
