//! Test helper: a request with four variables.

use myriad_script::{Builtin, Catalogue, Compiler, Environment, EvalError, Frame, Template, VariableRole};

struct TestCatalogue;

const NAMES: [&str; 4] = ["plain", "other", "absent", "broken"];

impl Catalogue for TestCatalogue {
    fn builtin(&mut self, name: &str) -> Option<(Builtin, VariableRole)> {
        NAMES.iter().position(|known| *known == name).map(|at| (Builtin(at as u32), VariableRole::Fixed))
    }
}

/// Values of `$plain` and `$other`. `$absent` is not set, and the evaluation of `$broken` fails.
#[derive(Default)]
pub(crate) struct TestVariables {
    pub(crate) plain: &'static [u8],
    pub(crate) other: &'static [u8],
}

impl Environment for TestVariables {
    fn variable(&self, id: Builtin, _: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError> {
        match id.0 {
            0 => out.extend_from_slice(self.plain),
            1 => out.extend_from_slice(self.other),
            2 => return Ok(false),
            _ => {
                let (pattern, reason) = ("x".to_owned(), "match limit exceeded".to_owned());
                return Err(EvalError::Regex { pattern, reason });
            }
        }
        Ok(true)
    }

    fn uri(&self) -> &[u8] {
        b"/"
    }

    fn args(&self) -> &[u8] {
        b""
    }

    fn uri_was_escaped(&self) -> bool {
        false
    }

    fn rewrite(&mut self, _: &[u8], _: &[u8]) {}
}

/// Compiles a template with the variables of [`TestVariables`].
pub(crate) fn template(text: &str) -> Template {
    let mut compiler = Compiler::new(TestCatalogue);
    let template = compiler.template(text).expect("a template");
    assert!(compiler.finish().is_ok());
    template
}
