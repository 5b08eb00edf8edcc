//! Request for tests: variables by name, and records of the changes that scripts make.

use std::cell::RefCell;

use crate::compiler::Compiler;
use crate::environment::{Builtin, Catalogue, Environment, FileTest, VariableRole};
use crate::error::EvalError;
use crate::frame::Frame;

/// Names of variables for tests: the fixed and assignable ones below, and any name that starts with `http_`, `cookie_`
/// or `arg_`. The index is the identifier.
#[derive(Clone, Debug)]
pub(crate) struct TestNames(Vec<String>);

const FIXED: [&str; 10] = [
    "host",
    "uri",
    "scheme",
    "request_uri",
    "request_method",
    "query_string",
    "remote_addr",
    "built",
    "digits",
    "absent",
];
const ASSIGNABLE: [&str; 2] = ["args", "limit_rate"];

impl Catalogue for TestNames {
    fn builtin(&mut self, name: &str) -> Option<(Builtin, VariableRole)> {
        let prefixed = ["http_", "cookie_", "arg_"].iter().any(|prefix| name.starts_with(prefix));
        let role = match name {
            _ if FIXED.contains(&name) => VariableRole::Fixed,
            _ if ASSIGNABLE.contains(&name) => VariableRole::Assignable,
            _ if prefixed => VariableRole::Shadowable,
            _ => return None,
        };
        let at = self.0.iter().position(|known| known == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        Some((Builtin(at as u32), role))
    }

    fn names(&self) -> &[&str] {
        &FIXED
    }
}

pub(crate) fn compiler() -> Compiler<TestNames> {
    Compiler::new(TestNames(Vec::new()))
}

/// Request for tests. Variables without a given value do not exist.
#[derive(Debug, Default)]
pub(crate) struct Request {
    names: Vec<String>,
    variables: Vec<(String, String)>,
    pub(crate) uri: Vec<u8>,
    pub(crate) args: Vec<u8>,
    pub(crate) escaped: bool,
    pub(crate) files: Vec<String>,
    pub(crate) assigned: Vec<(String, String)>,
    pub(crate) uninitialized: RefCell<Vec<String>>,
    pub(crate) reads: RefCell<usize>,
    pub(crate) log: RefCell<Vec<String>>,
}

impl Request {
    /// Creates a request with the names of a finished compiler.
    pub(crate) fn new(names: TestNames) -> Request {
        Request { names: names.0, uri: b"/".to_vec(), ..Request::default() }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Request {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn at(mut self, uri: &str, args: &str) -> Request {
        self.uri = uri.as_bytes().to_vec();
        self.args = args.as_bytes().to_vec();
        self
    }

    fn name(&self, id: Builtin) -> &str {
        &self.names[id.0 as usize]
    }

    fn get(&self, id: Builtin) -> Option<&[u8]> {
        let name = self.name(id);
        *self.reads.borrow_mut() += 1;
        match name {
            "uri" => Some(&self.uri),
            "args" | "query_string" => Some(&self.args),
            _ => self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_bytes()),
        }
    }
}

impl Environment for Request {
    fn variable(&self, id: Builtin, _: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError> {
        let value = self.get(id);
        out.extend_from_slice(value.unwrap_or_default());
        Ok(value.is_some())
    }

    fn variable_ref(&self, id: Builtin) -> Option<Option<&[u8]>> {
        (!matches!(self.name(id), "built" | "digits")).then(|| self.get(id))
    }

    fn is_plain(&self, id: Builtin) -> bool {
        self.name(id) == "digits"
    }

    fn assign(&mut self, id: Builtin, value: &[u8]) -> Result<(), EvalError> {
        let name = self.name(id).to_owned();
        if name == "args" {
            self.args = value.to_vec();
        }
        self.assigned.push((name, String::from_utf8_lossy(value).into_owned()));
        Ok(())
    }

    fn file_test(&self, test: FileTest, path: &[u8], _: &mut Frame) -> bool {
        let kind = match test {
            FileTest::File => "f",
            FileTest::Directory => "d",
            FileTest::Exists => "e",
            FileTest::Executable => "x",
        };
        let wanted = format!("{kind}:{}", String::from_utf8_lossy(path));
        self.files.contains(&wanted)
    }

    fn uri(&self) -> &[u8] {
        &self.uri
    }

    fn args(&self) -> &[u8] {
        &self.args
    }

    fn uri_was_escaped(&self) -> bool {
        self.escaped
    }

    fn rewrite(&mut self, uri: &[u8], args: &[u8]) {
        self.uri = uri.to_vec();
        self.args = args.to_vec();
    }

    fn uninitialized(&self, name: &str) {
        self.uninitialized.borrow_mut().push(name.to_owned());
    }

    fn rewrite_log(&self) -> bool {
        true
    }

    fn rewrite_notice(&self, message: std::fmt::Arguments<'_>) {
        self.log.borrow_mut().push(message.to_string());
    }
}
