//! Directives of the rewrite module to steps.

use super::rewrite::Rewrite;
use super::{Program, Step, StepKind, StepSource, Tagged};
use crate::compiler::Compiler;
use crate::condition::pattern_of;
use crate::environment::Catalogue;
use crate::error::ScriptError;

/// Declares the variables of `set` and of named groups, in blocks too.
pub(crate) fn declare<C: Catalogue>(
    compiler: &mut Compiler<C>,
    sources: &[StepSource<'_>],
) -> Result<(), Vec<ScriptError>> {
    let mut errors = Vec::new();
    for source in sources {
        let declared = match &source.kind {
            StepKind::Set { variable, .. } => compiler.declare_set(variable),
            StepKind::Rewrite { pattern, .. } => compiler.declare_captures(pattern),
            StepKind::If { condition, block, .. } => {
                errors.extend(declare(compiler, block).err().into_iter().flatten());
                pattern_of(condition).map_or(Ok(()), |pattern| compiler.declare_captures(pattern))
            }
            StepKind::Return { .. } | StepKind::Break => Ok(()),
        };
        errors.extend(declared.err().map(|error| error.in_item(source.tag)));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Compiles a block, and reports all of its errors together.
pub(crate) fn compile_program<C: Catalogue>(
    compiler: &mut Compiler<C>,
    sources: &[StepSource<'_>],
) -> Result<Program, Vec<ScriptError>> {
    declare(compiler, sources)?;
    let mut errors = Vec::new();
    let steps = steps(compiler, sources, &mut errors);
    if errors.is_empty() { Ok(Program { steps }) } else { Err(errors) }
}

fn steps<C: Catalogue>(
    compiler: &mut Compiler<C>,
    sources: &[StepSource<'_>],
    errors: &mut Vec<ScriptError>,
) -> Box<[Tagged]> {
    let mut steps = Vec::with_capacity(sources.len());
    for source in sources {
        match step(compiler, source, errors) {
            Ok(step) => steps.push(Tagged { step, tag: source.tag }),
            Err(error) => errors.push(error.in_item(source.tag)),
        }
    }
    steps.into_boxed_slice()
}

fn step<C: Catalogue>(
    compiler: &mut Compiler<C>,
    source: &StepSource<'_>,
    errors: &mut Vec<ScriptError>,
) -> Result<Step, ScriptError> {
    Ok(match &source.kind {
        StepKind::Set { variable, value } => {
            if !variable.starts_with('$') {
                return Err(ScriptError::new(format!("invalid variable name \"{variable}\"")));
            }
            Step::Set {
                name: (*variable).into(),
                target: compiler.target(variable)?,
                value: compiler.template(value)?,
            }
        }
        StepKind::Rewrite { pattern, replacement, flag } => {
            Step::Rewrite(Box::new(Rewrite::compile(pattern, replacement, *flag, compiler)?))
        }
        StepKind::Return { code, text } => answer(compiler, code, *text)?,
        StepKind::Break => Step::Break,
        StepKind::If { condition, block, id } => {
            let condition = compiler.condition(condition);
            let steps = steps(compiler, block, errors);
            Step::If { condition: condition?, steps, id: *id }
        }
    })
}

/// `return`: a code alone, a code and a text, or a URL alone (302).
fn answer<C: Catalogue>(
    compiler: &mut Compiler<C>,
    code: &str,
    text: Option<&str>,
) -> Result<Step, ScriptError> {
    if let Some(status) = status(code) {
        let text = text.map(|text| compiler.template(text)).transpose()?;
        return Ok(Step::Return { status, text });
    }
    if text.is_none() && is_absolute(code) {
        return Ok(Step::Return { status: 302, text: Some(compiler.template(code)?) });
    }
    Err(ScriptError::new(format!("invalid return code \"{code}\"")))
}

fn status(code: &str) -> Option<u16> {
    let digits = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| code.parse().ok()).flatten().filter(|status| *status <= 999)
}

/// The three beginnings by which nginx knows a URL.
pub(super) fn is_absolute(text: &str) -> bool {
    ["http://", "https://", "$scheme"].iter().any(|start| text.starts_with(start))
}
