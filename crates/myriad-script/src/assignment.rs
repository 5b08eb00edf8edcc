//! Assignment whose value is evaluated in one request and assigned in another (`auth_request_set`).

use crate::environment::{Catalogue, Environment};
use crate::error::{EvalError, ScriptError};
use crate::frame::Frame;
use crate::names::{NameResolver, ResolvedVariable};
use crate::template::Template;
use crate::template::parse::parse;

/// Compiled assignment to a variable, such as that of `auth_request_set`.
#[derive(Debug)]
pub struct Assignment {
    target: ResolvedVariable,
    value: Template,
}

impl Assignment {
    pub(crate) fn compile<C: Catalogue>(
        name: &str,
        value: &str,
        names: &mut NameResolver<C>,
    ) -> Result<Assignment, ScriptError> {
        Ok(Assignment { target: names.target(name)?, value: parse(value, names)? })
    }

    /// Evaluates the value in the request of `from`, and assigns it to the variable in the request of `to`. Both frames
    /// must belong to the same configuration.
    pub fn carry<E: Environment + ?Sized>(
        &self,
        (from, from_frame): (&E, &mut Frame),
        (to, to_frame): (&mut E, &mut Frame),
    ) -> Result<(), EvalError> {
        let mut built = Vec::new();
        self.value.eval(from, from_frame, &mut built)?;
        match &self.target {
            ResolvedVariable::User(variable) => variable.assign(to_frame, &built),
            ResolvedVariable::Builtin(id) => to.assign(*id, &built)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Request, compiler};

    #[test]
    fn value_is_read_in_one_request_and_set_in_another() {
        let mut compiler = compiler();
        compiler.declare_set("$user").unwrap();
        let user = compiler.assignment("$user", "u=$host").unwrap();
        let args = compiler.assignment("$args", "a=$host").unwrap();
        let shown = compiler.template("$user?$args").unwrap();
        let names = compiler.finish().unwrap();
        let asked = Request::new(names.clone()).with("host", "child").at("/auth", "own");
        let mut parent_request = Request::new(names).with("host", "parent");
        let (mut child, mut parent) = (Frame::new(), Frame::new());
        for assignment in [&user, &args] {
            assignment.carry((&asked, &mut child), (&mut parent_request, &mut parent)).unwrap();
        }
        let shows = |request: &Request, frame: &mut Frame| {
            let mut out = Vec::new();
            shown.eval(request, frame, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(shows(&parent_request, &mut parent), "u=child?a=child");
        assert_eq!(shows(&asked, &mut child), "?own", "what is asked keeps its own variables");
    }
}
