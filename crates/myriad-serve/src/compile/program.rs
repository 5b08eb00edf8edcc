//! Compilation of rewrite directives (`set`, `rewrite`, `return`, `if`, …) into a program.

use myriad_conf::model::{ConditionConf, FileTest, RewriteFlag, RewriteStep, StringTest};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Span, Text};
use myriad_script::functions::Function;
use myriad_script::{IfId, Program, StepKind, StepSource};

use super::RuntimeCompiler;
use super::place::PlaceContext;
use myriad_exchange::runtime::PlaceId;

/// Rewrite directives whose texts are owned here, because the script compiler borrows them.
pub(super) struct OwnedSteps(Vec<OwnedStep>);

enum OwnedStep {
    Set { variable: String, value: String, span: Span },
    Call { name: String, variable: String, function: Function, arguments: Vec<String>, span: Span },
    Rewrite { pattern: String, replacement: String, flag: Option<&'static str>, span: Span },
    Return { code: String, text: Option<String>, span: Span },
    Break { span: Span },
    If { words: Vec<String>, block: OwnedSteps, own_settings: bool, span: Span },
}

impl OwnedSteps {
    /// Converts the rewrite directives of a level with these settings. Errors in the arguments of `set_*` functions are
    /// added to `errors`.
    pub(super) fn from_steps(
        steps: &[RewriteStep],
        settings: &Settings,
        errors: &mut Vec<Diagnostic>,
    ) -> Self {
        Self(steps.iter().filter_map(|each| owned_step(each, settings, errors)).collect())
    }

    /// Returns the directives as input of the script compiler. Each refers to its position in the configuration by an
    /// index into `spans`, to which the positions are appended.
    pub(super) fn sources(&self, spans: &mut Vec<Span>) -> Vec<StepSource<'_>> {
        self.sources_from(spans, &mut 0)
    }

    fn sources_from(&self, spans: &mut Vec<Span>, next_if: &mut u32) -> Vec<StepSource<'_>> {
        let mut sources = Vec::with_capacity(self.0.len());
        for step in &self.0 {
            let tag = spans.len();
            let kind = match step {
                OwnedStep::Set { variable, value, span } => {
                    spans.push(*span);
                    StepKind::Set { variable, value }
                }
                OwnedStep::Call { name, variable, function, arguments, span } => {
                    spans.push(*span);
                    let arguments = arguments.iter().map(String::as_str).collect();
                    StepKind::Call { name, variable, function, arguments }
                }
                OwnedStep::Rewrite { pattern, replacement, flag, span } => {
                    spans.push(*span);
                    StepKind::Rewrite { pattern, replacement, flag: *flag }
                }
                OwnedStep::Return { code, text, span } => {
                    spans.push(*span);
                    StepKind::Return { code, text: text.as_deref() }
                }
                OwnedStep::Break { span } => {
                    spans.push(*span);
                    StepKind::Break
                }
                OwnedStep::If { words, block, own_settings, span } => {
                    spans.push(*span);
                    let id = IfId(*next_if);
                    *next_if += 1;
                    StepKind::If {
                        condition: words.iter().map(String::as_str).collect(),
                        block: block.sources_from(spans, next_if),
                        id: own_settings.then_some(id),
                    }
                }
            };
            sources.push(StepSource { tag, kind });
        }
        sources
    }
}

fn owned_step(step: &RewriteStep, settings: &Settings, errors: &mut Vec<Diagnostic>) -> Option<OwnedStep> {
    let owned = |text: &Text| text.lossy().into_owned();
    Some(match step {
        RewriteStep::Set { variable, value } => OwnedStep::Set {
            variable: format!("${}", variable.lossy()),
            value: owned(value),
            span: variable.span,
        },
        RewriteStep::Call { name, variable, function, arguments, span } => OwnedStep::Call {
            name: name.clone(),
            variable: format!("${}", variable.lossy()),
            function: function(settings, arguments).map_err(|error| errors.push(error)).ok()?,
            arguments: arguments.iter().map(owned).collect(),
            span: *span,
        },
        RewriteStep::Rewrite { pattern, replacement, flag, span } => OwnedStep::Rewrite {
            pattern: owned(pattern),
            replacement: owned(replacement),
            flag: match flag {
                RewriteFlag::None => None,
                RewriteFlag::Last => Some("last"),
                RewriteFlag::Break => Some("break"),
                RewriteFlag::Redirect => Some("redirect"),
                RewriteFlag::Permanent => Some("permanent"),
            },
            span: *span,
        },
        RewriteStep::Return { code, text, span } => {
            OwnedStep::Return { code: code.to_string(), text: text.as_ref().map(owned), span: *span }
        }
        RewriteStep::Break { span } => OwnedStep::Break { span: *span },
        RewriteStep::If(block) => OwnedStep::If {
            words: condition_words(&block.condition),
            block: OwnedSteps::from_steps(&block.rewrite, &block.settings, errors),
            own_settings: block.changes_settings,
            span: block.span,
        },
    })
}

/// Returns the words between `if` and its block.
fn condition_words(condition: &ConditionConf) -> Vec<String> {
    match condition {
        ConditionConf::True(variable) => vec![format!("${}", variable.lossy())],
        ConditionConf::Compare { variable, test, value } => {
            let operator = if *test == StringTest::Equal { "=" } else { "!=" };
            vec![format!("${}", variable.lossy()), operator.to_owned(), value.lossy().into_owned()]
        }
        ConditionConf::Match { variable, pattern, caseless, negated } => {
            let operator = match (negated, caseless) {
                (false, false) => "~",
                (false, true) => "~*",
                (true, false) => "!~",
                (true, true) => "!~*",
            };
            vec![format!("${}", variable.lossy()), operator.to_owned(), pattern.lossy().into_owned()]
        }
        ConditionConf::Test { test, negated, path } => {
            let letter = match test {
                FileTest::File => 'f',
                FileTest::Directory => 'd',
                FileTest::Exists => 'e',
                FileTest::Executable => 'x',
            };
            let mark = if *negated { "!" } else { "" };
            vec![format!("{mark}-{letter}"), path.lossy().into_owned()]
        }
    }
}

impl RuntimeCompiler<'_> {
    /// Compiles the rewrite directives of a server or location, and the settings (place) of each `if` block that has
    /// own settings. Returns the program, and the index of the place for each `if` number; 0 for a block without own
    /// settings.
    pub(super) fn program(
        &mut self,
        steps: &[RewriteStep],
        settings: &Settings,
        context: &PlaceContext<'_>,
    ) -> (Program, Vec<PlaceId>) {
        let program = self.steps(steps, settings);
        let mut ifs = Vec::new();
        self.if_places(steps, context, &mut ifs);
        (program, ifs)
    }

    /// Compiles rewrite directives, but not the settings in their `if` blocks.
    pub(super) fn steps(&mut self, steps: &[RewriteStep], settings: &Settings) -> Program {
        let owned = OwnedSteps::from_steps(steps, settings, &mut self.errors);
        // Tags are unique within the configuration, so that an explanation can find the directive of a tag.
        let mut spans = std::mem::take(&mut self.atlas.rules);
        let compiled = self.in_rules(|compile| compile.scripts.program(&owned.sources(&mut spans)));
        let program = compiled.unwrap_or_else(|errors| {
            for error in errors {
                let span = error.item.and_then(|tag| spans.get(tag)).copied().unwrap_or_default();
                self.report_script_error(span, error);
            }
            Program::default()
        });
        self.atlas.rules = spans;
        program
    }

    /// Compiles the settings of `if` blocks and appends the index of each to `ifs`, in the order of [`IfId`]: an `if`
    /// precedes those nested in it. A block without own settings gets 0.
    fn if_places(&mut self, steps: &[RewriteStep], context: &PlaceContext<'_>, ifs: &mut Vec<PlaceId>) {
        for step in steps {
            let RewriteStep::If(block) = step else { continue };
            let place = if block.changes_settings {
                self.place(&block.settings, context, (Program::default(), Vec::new()))
            } else {
                0
            };
            ifs.push(place);
            self.if_places(&block.rewrite, context, ifs);
        }
    }
}
