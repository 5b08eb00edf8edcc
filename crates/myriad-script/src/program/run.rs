//! Execution of the steps of a program.

use super::rewrite::After;
use super::step::{Action, Flow, IfId, Step, Tagged};
use crate::environment::Environment;
use crate::error::EvalError;
use crate::escape::escape_controls;
use crate::frame::Frame;
use crate::names::Resolved;
use crate::template::{CaptureForm, Template};
use crate::trace::{RuleOutcome, Trace};

/// State of a run.
pub(super) struct Run {
    /// As in nginx, captures of an escaped URI are written escaped until the first `rewrite` of the block has matched.
    captures: CaptureForm,
    uri_changed: bool,
    matched_if: Option<IfId>,
}

/// Action that terminated the steps early, if any.
pub(super) type Ended = Option<Action>;

impl Run {
    pub(super) fn new() -> Run {
        Run { captures: CaptureForm::Escaped, uri_changed: false, matched_if: None }
    }

    pub(super) fn flow(self, ended: Ended) -> Flow {
        let action = match ended {
            Some(action) => action,
            None if self.uri_changed => Action::UriChanged,
            None => Action::Continue,
        };
        Flow { action, matched_if: self.matched_if }
    }

    /// Runs the steps. With `TRACED`, each step is reported to the environment.
    pub(super) fn steps<E: Environment + ?Sized, const TRACED: bool>(
        &mut self,
        steps: &[Tagged],
        env: &mut E,
        frame: &mut Frame,
    ) -> Result<Ended, EvalError> {
        for Tagged { step, tag } in steps {
            let told = |env: &E, outcome: RuleOutcome<'_>| {
                if TRACED {
                    env.trace(Trace::Rule { tag: *tag, outcome });
                }
            };
            let ended = match step {
                Step::Set { name, target, value } => {
                    if TRACED {
                        let mut built = Vec::new();
                        value.eval_bounded(env, frame, &mut built, self.captures, || set_of(name))?;
                        told(env, RuleOutcome::Set(&built));
                    }
                    self.set((name, target), value, env, frame)?;
                    None
                }
                Step::Call(call) => {
                    let shown = call.run(env, frame, self.captures, TRACED)?;
                    told(env, RuleOutcome::Set(&shown));
                    None
                }
                Step::If { condition, steps, id } => {
                    let holds = condition.holds_form(env, frame, self.captures)?;
                    told(env, RuleOutcome::If(holds));
                    if holds {
                        self.matched_if = id.or(self.matched_if);
                        self.steps::<E, TRACED>(steps, env, frame)?
                    } else {
                        None
                    }
                }
                Step::Rewrite(rewrite) if rewrite.apply(env, frame)? => {
                    self.captures = CaptureForm::Raw;
                    let redirects = matches!(rewrite.after(), After::Redirect(_));
                    told(env, RuleOutcome::Rewritten(if redirects { frame.output() } else { env.uri() }));
                    self.rewritten(rewrite.after())
                }
                Step::Rewrite(_) => {
                    told(env, RuleOutcome::NoMatch);
                    None
                }
                Step::Return { status, text } => {
                    told(env, RuleOutcome::Ends);
                    Some(answer(*status, text.as_ref(), env, frame)?)
                }
                Step::Break => {
                    told(env, RuleOutcome::Ends);
                    Some(Action::Break)
                }
            };
            if ended.is_some() {
                return Ok(ended);
            }
        }
        Ok(None)
    }

    fn rewritten(&mut self, after: After) -> Ended {
        match after {
            After::Next => {
                self.uri_changed = true;
                None
            }
            After::Last => Some(Action::UriChanged),
            After::Break => Some(Action::Break),
            After::Redirect(status) => Some(Action::Redirect { status }),
        }
    }

    #[inline]
    fn set<E: Environment + ?Sized>(
        &self,
        (name, target): (&str, &Resolved),
        value: &Template,
        env: &mut E,
        frame: &mut Frame,
    ) -> Result<(), EvalError> {
        if let (Resolved::User(variable), Some(text)) = (target, value.as_static()) {
            variable.assign(frame, text);
            return Ok(());
        }
        let mut built = frame.take_buffer();
        let result = value.eval_bounded(env, frame, &mut built, self.captures, || set_of(name));
        if result.is_ok() {
            match target {
                Resolved::User(variable) => frame.store(variable.slot(), &mut built, false),
                Resolved::Builtin(id) => env.assign(*id, &built)?,
            }
        }
        frame.give_buffer(built);
        result
    }
}

fn set_of(name: &str) -> String {
    format!("set {name}")
}

/// Performs `return`: a redirect if code and text form one, otherwise the code with or without a text.
fn answer<E: Environment + ?Sized>(
    status: u16,
    text: Option<&Template>,
    env: &mut E,
    frame: &mut Frame,
) -> Result<Action, EvalError> {
    let Some(text) = text else {
        return Ok(Action::Return { status, text: false });
    };
    env.returns(status);
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
    Ok(if redirects { Action::Redirect { status } } else { Action::Return { status, text: true } })
}
