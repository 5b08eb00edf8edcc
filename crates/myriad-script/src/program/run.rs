//! Execution of the steps of a program of rewrite directives.

use super::rewrite::AfterMatch;
use super::step::{IfId, ProgramAction, ProgramResult, ProgramStep, TaggedStep};
use crate::environment::Environment;
use crate::error::EvalError;
use crate::escape::escape_controls;
use crate::frame::{Frame, SlotKind};
use crate::names::ResolvedVariable;
use crate::template::{CaptureForm, Template};
use crate::trace::{RuleOutcome, Trace};

/// State of one execution of a program.
pub(super) struct ProgramRun {
    /// Form of captures in the texts of `set`, `if` and function calls. As in nginx, captures of a URI that was sent
    /// with escapes are escaped again until the first `rewrite` of the program has matched.
    captures: CaptureForm,
    uri_changed: bool,
    matched_if: Option<IfId>,
}

/// Action that ended the program early; `None` if it ran to its end.
pub(super) type EarlyAction = Option<ProgramAction>;

impl ProgramRun {
    pub(super) fn new() -> ProgramRun {
        ProgramRun { captures: CaptureForm::Escaped, uri_changed: false, matched_if: None }
    }

    pub(super) fn flow(self, ended: EarlyAction) -> ProgramResult {
        let action = match ended {
            Some(action) => action,
            None if self.uri_changed => ProgramAction::UriChanged,
            None => ProgramAction::Continue,
        };
        ProgramResult { action, matched_if: self.matched_if }
    }

    /// Runs steps until one terminates the program, and returns its action; `None` after the last step. With `TRACED`, each
    /// step is reported to the environment.
    pub(super) fn steps<E: Environment + ?Sized, const TRACED: bool>(
        &mut self,
        steps: &[TaggedStep],
        env: &mut E,
        frame: &mut Frame,
    ) -> Result<EarlyAction, EvalError> {
        for TaggedStep { step, tag } in steps {
            let trace_rule = |env: &E, outcome: RuleOutcome<'_>| {
                if TRACED {
                    env.trace(Trace::Rule { tag: *tag, outcome });
                }
            };
            let action = match step {
                ProgramStep::Set { name, target, value } => {
                    if TRACED {
                        let mut built = Vec::new();
                        value.eval_bounded(env, frame, &mut built, self.captures, || set_of(name))?;
                        trace_rule(env, RuleOutcome::Set(&built));
                    }
                    self.set((name, target), value, env, frame)?;
                    None
                }
                ProgramStep::Call(call) => {
                    let shown = call.run(env, frame, self.captures, TRACED)?;
                    trace_rule(env, RuleOutcome::Set(&shown));
                    None
                }
                ProgramStep::If { condition, steps, id } => {
                    let holds = condition.holds_form(env, frame, self.captures)?;
                    trace_rule(env, RuleOutcome::If(holds));
                    if holds {
                        self.matched_if = id.or(self.matched_if);
                        self.steps::<E, TRACED>(steps, env, frame)?
                    } else {
                        None
                    }
                }
                ProgramStep::Rewrite(rewrite) if rewrite.apply(env, frame)? => {
                    self.captures = CaptureForm::Raw;
                    let redirects = matches!(rewrite.after(), AfterMatch::Redirect(_));
                    trace_rule(
                        env,
                        RuleOutcome::Rewritten(if redirects { frame.output() } else { env.uri() }),
                    );
                    self.after_rewrite(rewrite.after())
                }
                ProgramStep::Rewrite(_) => {
                    trace_rule(env, RuleOutcome::NoMatch);
                    None
                }
                ProgramStep::Return { status, text } => {
                    trace_rule(env, RuleOutcome::Ends);
                    Some(answer(*status, text.as_ref(), env, frame)?)
                }
                ProgramStep::Break => {
                    trace_rule(env, RuleOutcome::Ends);
                    Some(ProgramAction::Break)
                }
            };
            if action.is_some() {
                return Ok(action);
            }
        }
        Ok(None)
    }

    fn after_rewrite(&mut self, after: AfterMatch) -> EarlyAction {
        match after {
            AfterMatch::Next => {
                self.uri_changed = true;
                None
            }
            AfterMatch::Last => Some(ProgramAction::UriChanged),
            AfterMatch::Break => Some(ProgramAction::Break),
            AfterMatch::Redirect(status) => Some(ProgramAction::Redirect { status }),
        }
    }

    #[inline]
    fn set<E: Environment + ?Sized>(
        &self,
        (name, target): (&str, &ResolvedVariable),
        value: &Template,
        env: &mut E,
        frame: &mut Frame,
    ) -> Result<(), EvalError> {
        if let (ResolvedVariable::User(variable), Some(text)) = (target, value.as_static()) {
            variable.assign(frame, text);
            return Ok(());
        }
        let mut built = frame.take_buffer();
        let result = value.eval_bounded(env, frame, &mut built, self.captures, || set_of(name));
        if result.is_ok() {
            match target {
                ResolvedVariable::User(variable) => {
                    frame.store(variable.slot(), &mut built, SlotKind::Assigned);
                }
                ResolvedVariable::Builtin(id) => env.assign(*id, &built)?,
            }
        }
        frame.give_buffer(built);
        result
    }
}

fn set_of(name: &str) -> String {
    format!("set {name}")
}

/// Performs `return`: a redirect for a text with status 301, 302, 303, 307 or 308, otherwise a response with the status
/// and the text, if any.
fn answer<E: Environment + ?Sized>(
    status: u16,
    text: Option<&Template>,
    env: &mut E,
    frame: &mut Frame,
) -> Result<ProgramAction, EvalError> {
    let Some(text) = text else {
        return Ok(ProgramAction::Return { status, text: false });
    };
    env.note_return(status);
    let mut built = frame.take_buffer();
    let result = text.eval_bounded(env, frame, &mut built, CaptureForm::Raw, || format!("return {status}"));
    let output = frame.output_mut();
    std::mem::swap(output, &mut built);
    let redirects = matches!(status, 301 | 302 | 303 | 307 | 308);
    if redirects {
        escape_controls(output);
    }
    frame.give_buffer(built);
    result?;
    Ok(if redirects {
        ProgramAction::Redirect { status }
    } else {
        ProgramAction::Return { status, text: true }
    })
}
