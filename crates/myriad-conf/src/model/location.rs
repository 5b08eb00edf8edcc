//! `location` blocks, and the rewrite steps of servers, locations and `if` blocks.

use myriad_script::functions::Function;

use crate::{diagnostic::Diagnostic, settings::Settings, span::Span, text::Text};

/// Comparison method of a location's pattern.
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
        /// True for `~*`.
        caseless: bool,
    },
    /// `@name`; the pattern includes the `@`.
    Named,
}

/// `location` block.
#[derive(Clone, Debug)]
pub struct LocationConf {
    /// Comparison method.
    pub matcher: Matcher,
    /// Pattern to compare with.
    pub pattern: Text,
    /// Settings of the location.
    pub settings: Settings,
    /// Rewrite directives of the location, in source order.
    pub rewrite: Vec<RewriteStep>,
    /// Nested locations, in source order.
    pub locations: Vec<LocationConf>,
    /// `limit_except`.
    pub limit_except: Option<LimitExcept>,
    /// Position from the `location` word to the last byte of the pattern.
    pub span: Span,
}

/// `limit_except`: different settings for all methods that are not listed.
#[derive(Clone, Debug)]
pub struct LimitExcept {
    /// Methods not affected by the block, in upper case. GET includes HEAD.
    pub methods: Vec<String>,
    /// Settings for all other methods.
    pub settings: Settings,
    /// The directive.
    pub span: Span,
}

/// Last argument of `rewrite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewriteFlag {
    /// Continue with the next step, then search for a location again.
    None,
    /// Stop rewriting and search for a location again.
    Last,
    /// Stop rewriting and stay in this location.
    Break,
    /// Respond with 302. Also applies without a flag if the replacement starts with `http://`, `https://` or `$scheme`.
    Redirect,
    /// Respond with 301.
    Permanent,
}

/// Creates the function of a [`RewriteStep::Call`] from the settings of its level and the arguments.
pub type MakeFunction = fn(&Settings, &[Text]) -> Result<Function, Diagnostic>;

/// Step of nginx's rewrite module.
#[derive(Clone, Debug)]
pub enum RewriteStep {
    /// `set $variable value`.
    Set {
        /// Name of the variable without `$`.
        variable: Text,
        /// The value.
        value: Text,
    },
    /// Directive that sets a variable to the result of a function of texts: `set_md5 $variable text`.
    Call {
        /// Directive and variable in the form used by messages: `set_md5 $digest`.
        name: String,
        /// Name of the variable without `$`.
        variable: Text,
        /// Creates the function.
        function: MakeFunction,
        /// Arguments of the function.
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
        /// Flag: the action after the rewrite.
        flag: RewriteFlag,
        /// The directive.
        span: Span,
    },
    /// `return code [text]`, or `return URL` (302).
    Return {
        /// Status; 444 closes the connection without a response.
        code: u16,
        /// Body, or the URL if the status is 301, 302, 303, 307 or 308.
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

/// `if` block. In a location, its settings apply once the condition is true. A later true `if` replaces them, as in
/// nginx.
#[derive(Clone, Debug)]
pub struct IfBlock {
    /// Condition.
    pub condition: ConditionConf,
    /// Settings of the outer level with those of the block applied.
    pub settings: Settings,
    /// True if the block contains directives other than rewrite steps.
    pub changes_settings: bool,
    /// Rewrite directives of the block, in source order.
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

/// Condition in the parentheses of `if`. Variables are named without `$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionConf {
    /// `($variable)`: the value is neither empty nor `0`.
    True(Text),
    /// `($variable = value)`.
    Compare {
        /// The variable.
        variable: Text,
        /// Comparison operator.
        test: StringTest,
        /// Value; may contain variables.
        value: Text,
    },
    /// `($variable ~ regex)`, `~*`, `!~`, `!~*`.
    Match {
        /// The variable.
        variable: Text,
        /// The regex.
        pattern: Text,
        /// True for `~*` and `!~*`.
        caseless: bool,
        /// True for `!~` and `!~*`.
        negated: bool,
    },
    /// `(-f path)`, `(!-f path)`, …
    Test {
        /// Test.
        test: FileTest,
        /// True for `!`.
        negated: bool,
        /// Path; may contain variables.
        path: Text,
    },
}
