//! Compilation of the directives of the rewrite module.

use myriad_base::digits::decimal;

use super::Program;
use super::call::FunctionCall;
use super::rewrite::{Rewrite, is_absolute};
use super::source::{StepKind, StepSource};
use super::step::{ProgramStep, TaggedStep};
use crate::condition::{CompiledCondition, pattern_of};
use crate::environment::Catalogue;
use crate::error::ScriptError;
use crate::names::NameResolver;
use crate::template::parse::parse;

/// Declares the variables of `set`, function calls and named groups, including those in nested blocks.
pub(crate) fn declare<C: Catalogue>(
    names: &mut NameResolver<C>,
    sources: &[StepSource<'_>],
) -> Result<(), Vec<ScriptError>> {
    let mut errors = Vec::new();
    for source in sources {
        let declared = match &source.kind {
            StepKind::Set { variable, .. } | StepKind::Call { variable, .. } => {
                names.target(variable).map(drop)
            }
            StepKind::Rewrite { pattern, .. } => names.declare_captures(pattern),
            StepKind::If { condition, block, .. } => {
                errors.extend(declare(names, block).err().into_iter().flatten());
                pattern_of(condition).map_or(Ok(()), |pattern| names.declare_captures(pattern))
            }
            StepKind::Return { .. } | StepKind::Break => Ok(()),
        };
        errors.extend(declared.err().map(|error| error.in_item(source.tag)));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Compiles a block. If declarations have errors, returns all of these errors; otherwise returns the errors of all
/// directives together.
pub(crate) fn program<C: Catalogue>(
    names: &mut NameResolver<C>,
    sources: &[StepSource<'_>],
) -> Result<Program, Vec<ScriptError>> {
    declare(names, sources)?;
    let mut errors = Vec::new();
    let steps = steps(names, sources, &mut errors);
    if errors.is_empty() { Ok(Program { steps }) } else { Err(errors) }
}

fn steps<C: Catalogue>(
    names: &mut NameResolver<C>,
    sources: &[StepSource<'_>],
    errors: &mut Vec<ScriptError>,
) -> Box<[TaggedStep]> {
    let mut steps = Vec::with_capacity(sources.len());
    for source in sources {
        match step(names, source, errors) {
            Ok(step) => steps.push(TaggedStep { step, tag: source.tag }),
            Err(error) => errors.push(error.in_item(source.tag)),
        }
    }
    steps.into_boxed_slice()
}

fn step<C: Catalogue>(
    names: &mut NameResolver<C>,
    source: &StepSource<'_>,
    errors: &mut Vec<ScriptError>,
) -> Result<ProgramStep, ScriptError> {
    Ok(match &source.kind {
        StepKind::Set { variable, value } => {
            if !variable.starts_with('$') {
                return Err(ScriptError::new(format!("invalid variable name \"{variable}\"")));
            }
            ProgramStep::Set {
                name: (*variable).into(),
                target: names.target(variable)?,
                value: parse(value, names)?,
            }
        }
        StepKind::Call { name, variable, function, arguments } => {
            ProgramStep::Call(Box::new(FunctionCall::compile(name, variable, (function, arguments), names)?))
        }
        StepKind::Rewrite { pattern, replacement, flag } => {
            ProgramStep::Rewrite(Box::new(Rewrite::compile(pattern, replacement, *flag, names)?))
        }
        StepKind::Return { code, text } => answer(names, code, *text)?,
        StepKind::Break => ProgramStep::Break,
        StepKind::If { condition, block, id } => {
            let condition = CompiledCondition::compile(condition, names);
            let steps = steps(names, block, errors);
            ProgramStep::If { condition: condition?, steps, id: *id }
        }
    })
}

/// Compiles `return`: a status, a status and a text, or a URL (status 302).
fn answer<C: Catalogue>(
    names: &mut NameResolver<C>,
    code: &str,
    text: Option<&str>,
) -> Result<ProgramStep, ScriptError> {
    if let Some(status) = status(code) {
        let text = text.map(|text| parse(text, names)).transpose()?;
        return Ok(ProgramStep::Return { status, text });
    }
    if text.is_none() && is_absolute(code) {
        return Ok(ProgramStep::Return { status: 302, text: Some(parse(code, names)?) });
    }
    Err(ScriptError::new(format!("invalid return code \"{code}\"")))
}

fn status(code: &str) -> Option<u16> {
    decimal(code).filter(|status| *status <= 999)
}
