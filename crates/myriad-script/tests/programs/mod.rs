//! Rewrite programs from arbitrary text, for the test with mutated programs and for the fuzz target. For any text, the
//! program must either be rejected, or run and leave the request in a valid state.

use myriad_script::{
    Builtin, Catalogue, Compiler, Environment, EvalError, Frame, MOST_TEXT, ProgramAction, StepKind,
    StepSource, VariableRole,
};

/// Variables `$uri`, `$args`, and any `$arg_*`.
struct ProgramTestCatalogue;

impl Catalogue for ProgramTestCatalogue {
    fn builtin(&mut self, name: &str) -> Option<(Builtin, VariableRole)> {
        match name {
            "uri" => Some((Builtin(0), VariableRole::Fixed)),
            "args" => Some((Builtin(1), VariableRole::Assignable)),
            _ if name.starts_with("arg_") => Some((Builtin(2), VariableRole::Shadowable)),
            _ => None,
        }
    }
}

struct Request {
    uri: Vec<u8>,
    args: Vec<u8>,
}

impl Environment for Request {
    fn variable(&self, id: Builtin, _: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError> {
        out.extend_from_slice(if id.0 == 0 { &self.uri } else { &self.args });
        Ok(id.0 < 2)
    }

    fn assign(&mut self, id: Builtin, value: &[u8]) -> Result<(), EvalError> {
        assert_eq!(id, Builtin(1), "only what is assignable is assigned");
        self.args = value.to_vec();
        Ok(())
    }

    fn uri(&self) -> &[u8] {
        &self.uri
    }

    fn args(&self) -> &[u8] {
        &self.args
    }

    fn uri_was_escaped(&self) -> bool {
        self.uri.len().is_multiple_of(2)
    }

    fn rewrite(&mut self, uri: &[u8], args: &[u8]) {
        assert!(!uri.is_empty(), "a URI is never empty");
        self.uri = uri.to_vec();
        self.args = args.to_vec();
    }
}

/// Runs a program. The first line is the URI; each further line is a directive, with its words separated by tabs. An
/// `if` includes the lines up to the next `end`.
pub(crate) fn run(text: &str) {
    let mut lines = text.lines();
    let uri = lines.next().unwrap_or_default();
    let (path, args) = uri.split_once('?').unwrap_or((uri, ""));
    let words: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
    let mut rest = words.as_slice();
    let steps = block(&mut rest, 0);
    let mut compiler = Compiler::new(ProgramTestCatalogue);
    let Ok(program) = compiler.program(&steps) else { return };
    if compiler.finish().is_err() {
        return;
    }
    let mut frame = Frame::new();
    let mut request = Request { uri: format!("/{path}").into_bytes(), args: args.as_bytes().to_vec() };
    for _ in 0..3 {
        match program.run(&mut request, &mut frame).map(|flow| flow.action) {
            Ok(ProgramAction::Redirect { status }) => {
                assert!(matches!(status, 301 | 302 | 303 | 307 | 308));
                let target = frame.output();
                assert!(!target.iter().any(u8::is_ascii_control), "a field could be injected: {target:?}");
            }
            Ok(ProgramAction::Return { status, .. }) => assert!(status <= 999),
            Ok(_) | Err(_) => {}
        }
        assert!(!request.uri.is_empty());
        assert!(request.uri.len().max(request.args.len()) <= MOST_TEXT, "rewriting made too much");
    }
}

fn block<'t>(rest: &mut &[Vec<&'t str>], depth: usize) -> Vec<StepSource<'t>> {
    let mut steps = Vec::new();
    while let Some((words, after)) = rest.split_first() {
        *rest = after;
        let tag = steps.len();
        let kind = match words.as_slice() {
            ["end"] if depth > 0 => break,
            ["set", variable, value] => StepKind::Set { variable, value },
            ["rewrite", pattern, replacement] => StepKind::Rewrite { pattern, replacement, flag: None },
            ["rewrite", pattern, replacement, flag] => {
                StepKind::Rewrite { pattern, replacement, flag: Some(flag) }
            }
            ["return", code] => StepKind::Return { code, text: None },
            ["return", code, text] => StepKind::Return { code, text: Some(text) },
            ["break"] => StepKind::Break,
            ["if", condition @ ..] if depth < 8 => {
                StepKind::If { condition: condition.to_vec(), block: block(rest, depth + 1), id: None }
            }
            _ => continue,
        };
        steps.push(StepSource { tag, kind });
    }
    steps
}
