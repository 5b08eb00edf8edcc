//! The `rewrite` directive.

use crate::environment::{Catalogue, Environment};
use crate::error::{EvalError, MOST_TEXT, ScriptError};
use crate::escape::{escape_controls, unescape_redirect};
use crate::frame::Frame;
use crate::names::NameResolver;
use crate::regex::Regex;
use crate::template::parse::parse;
use crate::template::{CaptureForm, Template};

/// Action after `rewrite` has matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterMatch {
    /// No flag: continue with the next directive and the rewritten URI.
    Next,
    /// `last`: search for a location again.
    Last,
    /// `break`: continue in the same location, and skip the remaining directives.
    Break,
    /// Redirect with this status: `redirect`, `permanent`, or an absolute URL.
    Redirect(u16),
}

#[derive(Debug)]
pub(super) struct Rewrite {
    regex: Regex,
    /// Replacement up to its first `?`; for a redirect the whole replacement, without a trailing `?`.
    path: Template,
    /// Replacement after its first `?`; `None` if it has none, and for a redirect.
    args: Option<Template>,
    /// True if the arguments of the request are appended: the replacement does not end with `?`.
    appends_args: bool,
    /// True if the replacement contains `?`, so that the arguments of the request are appended to a redirect with `&`.
    has_args: bool,
    after: AfterMatch,
}

impl Rewrite {
    pub(super) fn compile<C: Catalogue>(
        pattern: &str,
        replacement: &str,
        flag: Option<&str>,
        names: &mut NameResolver<C>,
    ) -> Result<Rewrite, ScriptError> {
        let (text, keeps_args) = match replacement.strip_suffix('?') {
            Some(text) => (text, false),
            None => (replacement, true),
        };
        let absolute = is_absolute(text);
        let after = match flag {
            Some("redirect") => AfterMatch::Redirect(302),
            Some("permanent") => AfterMatch::Redirect(301),
            None | Some("last" | "break") if absolute => AfterMatch::Redirect(302),
            None => AfterMatch::Next,
            Some("last") => AfterMatch::Last,
            Some("break") => AfterMatch::Break,
            Some(other) => return Err(ScriptError::new(format!("invalid parameter \"{other}\""))),
        };
        let regex = names.regex(pattern, false)?;
        let redirects = matches!(after, AfterMatch::Redirect(_));
        let (path, args) = match text.split_once('?') {
            Some((path, args)) if !redirects => {
                let shift = path.len() + 1;
                let args = parse(args, names).map_err(|mut error| {
                    error.offset += shift;
                    error
                })?;
                (parse(path, names)?, Some(args))
            }
            _ => (parse(text, names)?, None),
        };
        Ok(Rewrite { regex, path, args, appends_args: keeps_args, has_args: text.contains('?'), after })
    }

    pub(super) fn after(&self) -> AfterMatch {
        self.after
    }

    /// Matches the URI; on a match rewrites it, or writes the URL of the redirect to the frame, otherwise clears the
    /// captures. Returns whether it matched.
    pub(super) fn apply<E: Environment + ?Sized>(
        &self,
        env: &mut E,
        frame: &mut Frame,
    ) -> Result<bool, EvalError> {
        let matched = self.regex.matches(env.uri(), frame)?;
        if !matched {
            frame.clear_captures();
            if env.rewrite_log() {
                let uri = String::from_utf8_lossy(env.uri());
                env.rewrite_notice(format_args!("\"{}\" does not match \"{uri}\"", self.regex.as_str()));
            }
            return Ok(false);
        }
        if env.rewrite_log() {
            let uri = String::from_utf8_lossy(env.uri());
            env.rewrite_notice(format_args!("\"{}\" matches \"{uri}\"", self.regex.as_str()));
        }
        let mut path = frame.take_buffer();
        let mut args = frame.take_buffer();
        let result = match self.after {
            AfterMatch::Redirect(_) => self.redirect(env, frame, &mut path),
            _ => self.rewrite(env, frame, &mut path, &mut args),
        };
        frame.give_buffer(path);
        frame.give_buffer(args);
        result.map(|()| true)
    }

    /// Returns the name of the directive in errors: `rewrite` and its pattern.
    fn named(&self) -> String {
        format!("rewrite {}", self.regex.as_str())
    }

    /// Returns an error if a rewritten URI with its arguments, or the URL of a redirect, is longer than [`MOST_TEXT`]
    /// bytes. The arguments of the request are appended in every round of rewriting.
    fn check_length(&self, length: usize) -> Result<(), EvalError> {
        if length > MOST_TEXT { Err(EvalError::TooLong { directive: self.named() }) } else { Ok(()) }
    }

    /// Writes the URL of the redirect to the output of the frame; `url` is a buffer.
    fn redirect<E: Environment + ?Sized>(
        &self,
        env: &mut E,
        frame: &mut Frame,
        url: &mut Vec<u8>,
    ) -> Result<(), EvalError> {
        self.path.eval_bounded(env, frame, url, CaptureForm::Escaped, || self.named())?;
        let output = frame.output_mut();
        output.clear();
        unescape_redirect(url, output);
        if self.appends_args && !env.args().is_empty() {
            output.push(if self.has_args { b'&' } else { b'?' });
            output.extend_from_slice(env.args());
        }
        self.check_length(output.len())?;
        escape_controls(output);
        if env.rewrite_log() {
            let target = String::from_utf8_lossy(frame.output());
            env.rewrite_notice(format_args!("rewritten redirect: \"{target}\""));
        }
        Ok(())
    }

    /// Sets the new URI and arguments of the request; `path` and `args` are buffers.
    fn rewrite<E: Environment + ?Sized>(
        &self,
        env: &mut E,
        frame: &mut Frame,
        path: &mut Vec<u8>,
        args: &mut Vec<u8>,
    ) -> Result<(), EvalError> {
        self.path.eval_bounded(env, frame, path, CaptureForm::Raw, || self.named())?;
        if let Some(own) = &self.args {
            own.eval_bounded(env, frame, args, CaptureForm::Escaped, || self.named())?;
        }
        if self.appends_args && !env.args().is_empty() {
            if self.args.is_some() {
                args.push(b'&');
            }
            args.extend_from_slice(env.args());
        }
        if path.is_empty() {
            return Err(EvalError::EmptyUri);
        }
        self.check_length(path.len() + args.len())?;
        env.rewrite(path, args);
        if env.rewrite_log() {
            let (path, args) = (String::from_utf8_lossy(path), String::from_utf8_lossy(args));
            env.rewrite_notice(format_args!("rewritten data: \"{path}\", args: \"{args}\""));
        }
        Ok(())
    }
}

/// Returns whether a text starts with one of the three prefixes by which nginx recognizes a URL.
pub(super) fn is_absolute(text: &str) -> bool {
    ["http://", "https://", "$scheme"].iter().any(|start| text.starts_with(start))
}
