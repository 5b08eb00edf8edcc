//! `location` blocks and the rewrite steps inside servers, locations and ifs.

use myriad_functions::Function;

use crate::{diagnostic::Diagnostic, settings::Settings, span::Span, text::Text};

/// How a location's pattern is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matcher {
    /// `= /path`.
    Exact,
    /// `/path`.
    Prefix,
    /// `^~ /path`: no regex is tried after it.
    PrefixNoRegex,
    /// `~ regex`, or `~* regex`.
    Regex {
        /// `~*`.
        caseless: bool,
    },
    /// `@name`; the pattern bears the `@`.
    Named,
}

/// A `location` block.
#[derive(Clone, Debug)]
pub struct LocationConf {
    /// How it is compared.
    pub matcher: Matcher,
    /// With what.
    pub pattern: Text,
    /// Its settings.
    pub settings: Settings,
    /// Its rewrite directives, in source order.
    pub rewrite: Vec<RewriteStep>,
    /// Nested locations, in source order.
    pub locations: Vec<LocationConf>,
    /// `limit_except`.
    pub limit_except: Option<LimitExcept>,
    /// The `location` word to the end of the pattern.
    pub span: Span,
}

/// `limit_except`: other settings for every method that is not listed.
#[derive(Clone, Debug)]
pub struct LimitExcept {
    /// Methods that the block does not touch, upper case; GET brings HEAD.
    pub methods: Vec<String>,
    /// What holds for the other methods.
    pub settings: Settings,
    /// The directive.
    pub span: Span,
}

/// The last argument of `rewrite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewriteFlag {
    /// Go on with the next step, then look for a location again.
    None,
    /// Stop, look for a location again.
    Last,
    /// Stop, stay in this location.
    Break,
    /// Answer 302. Also what a replacement starting with `http://`, `https://` or `$scheme` gets without a flag.
    Redirect,
    /// Answer 301.
    Permanent,
}

/// Makes the function of a [`RewriteStep::Call`] on a level with these settings; it is told the arguments.
pub type MakeFunction = fn(&Settings, &[Text]) -> Result<Function, Diagnostic>;

/// One step of nginx's rewrite module.
#[derive(Clone, Debug)]
pub enum RewriteStep {
    /// `set $variable value`.
    Set {
        /// The name without its `$`.
        variable: Text,
        /// The value.
        value: Text,
    },
    /// A directive that gives a variable what a function makes of texts: `set_md5 $variable text`.
    Call {
        /// The directive and its variable, as messages name them: `set_md5 $digest`.
        name: String,
        /// The name of the variable without its `$`.
        variable: Text,
        /// Makes the function.
        function: MakeFunction,
        /// What it is called with.
        arguments: Vec<Text>,
        /// The directive.
        span: Span,
    },
    /// `rewrite pattern replacement [flag]`.
    Rewrite {
        /// The regex.
        pattern: Text,
        /// The replacement.
        replacement: Text,
        /// What follows.
        flag: RewriteFlag,
        /// The directive.
        span: Span,
    },
    /// `return code [text]`, or `return URL` (302).
    Return {
        /// The status; 444 closes without an answer.
        code: u16,
        /// A body, or the URL where the status is 301, 302, 303, 307 or 308.
        text: Option<Text>,
        /// The directive.
        span: Span,
    },
    /// `break`.
    Break {
        /// The directive.
        span: Span,
    },
    /// `if (condition) { … }`.
    If(Box<IfBlock>),
}

/// An `if` block. In a location, settings hold once the condition did; a later true `if` replaces them, as in nginx.
#[derive(Clone, Debug)]
pub struct IfBlock {
    /// When.
    pub condition: Condition,
    /// The settings around it with those of the block laid over.
    pub settings: Settings,
    /// Whether the block says anything besides rewrite steps.
    pub changes_settings: bool,
    /// Its rewrite directives, in source order.
    pub rewrite: Vec<RewriteStep>,
    /// The directive.
    pub span: Span,
}

/// `=` or `!=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringTest {
    /// `=`.
    Equal,
    /// `!=`.
    NotEqual,
}

/// `-f`, `-d`, `-e`, `-x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTest {
    /// `-f`.
    File,
    /// `-d`.
    Directory,
    /// `-e`.
    Exists,
    /// `-x`.
    Executable,
}

/// What stands in the parentheses of `if`. Variables are named without their `$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `($variable)`: neither empty nor `0`.
    True(Text),
    /// `($variable = value)`.
    Compare {
        /// The variable.
        variable: Text,
        /// Which way.
        test: StringTest,
        /// The value; may hold variables.
        value: Text,
    },
    /// `($variable ~ regex)`, `~*`, `!~`, `!~*`.
    Match {
        /// The variable.
        variable: Text,
        /// The regex.
        pattern: Text,
        /// `~*`.
        caseless: bool,
        /// `!~`.
        negated: bool,
    },
    /// `(-f path)`, `(!-f path)`, …
    Test {
        /// Which test.
        test: FileTest,
        /// `!`.
        negated: bool,
        /// The path; may hold variables.
        path: Text,
    },
}
