//! `location` blocks, and the rewrite steps of servers, locations and `if` blocks.

use myriad_script::functions::Function;

use crate::{diagnostic::Diagnostic, settings::Settings, span::Span, text::Text};

/// Kind of a location's pattern, which defines how a URI is compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matcher {
    /// `= /path`.
    Exact,
    /// `/path`.
    Prefix,
    /// `^~ /path`: if it is the longest matching prefix, no regex is tried.
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
    /// Kind of the pattern.
    pub matcher: Matcher,
    /// Path, regex or name to compare with, without the modifier (`=`, `~`, …).
    pub pattern: Text,
    /// Settings of the location, including inherited ones.
    pub settings: Settings,
    /// Rewrite directives of the location, in source order.
    pub rewrite: Vec<RewriteStep>,
    /// Nested locations, in source order.
    pub locations: Vec<LocationConf>,
    /// `limit_except` block, if any.
    pub limit_except: Option<LimitExcept>,
    /// Position from the `location` word to the last byte of the pattern.
    pub span: Span,
}

/// `limit_except` block: settings for all methods that are not listed.
#[derive(Clone, Debug)]
pub struct LimitExcept {
    /// Methods to which the block does not apply, in upper case. GET includes HEAD.
    pub methods: Vec<String>,
    /// Settings for all other methods.
    pub settings: Settings,
    /// Position of the directive.
    pub span: Span,
}

/// Last argument of `rewrite`: action after the URI was rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewriteFlag {
    /// Continue with the next step, then search for a location again.
    None,
    /// Stop rewriting and search for a location again.
    Last,
    /// Stop rewriting and stay in this location.
    Break,
    /// Respond with 302. Also set without a flag if the replacement starts with `http://`, `https://` or `$scheme`.
    Redirect,
    /// Respond with 301.
    Permanent,
}

/// Function that creates the [`Function`] of a [`RewriteStep::Call`] from the settings of its level and its arguments.
pub type MakeFunction = fn(&Settings, &[Text]) -> Result<Function, Diagnostic>;

/// Directive of nginx's rewrite module, executed in source order.
#[derive(Clone, Debug)]
pub enum RewriteStep {
    /// `set $variable value`.
    Set {
        /// Name of the variable, without `$`.
        variable: Text,
        /// Value; may contain variables.
        value: Text,
    },
    /// Directive that sets a variable to the result of a function, such as `set_md5 $variable text`.
    Call {
        /// Directive and variable, for messages: `set_md5 $digest`.
        name: String,
        /// Name of the variable, without `$`.
        variable: Text,
        /// Creates the function.
        function: MakeFunction,
        /// Arguments of the function.
        arguments: Vec<Text>,
        /// Position of the directive.
        span: Span,
    },
    /// `rewrite pattern replacement [flag]`.
    Rewrite {
        /// Regex that the URI must match.
        pattern: Text,
        /// New URI, or a URL for redirects; may contain variables and captures.
        replacement: Text,
        /// Flag: the action after the rewrite.
        flag: RewriteFlag,
        /// Position of the directive.
        span: Span,
    },
    /// `return code [text]`, or `return URL` (302).
    Return {
        /// Status; 444 closes the connection without a response.
        code: u16,
        /// Body, or the URL if the status is 301, 302, 303, 307 or 308.
        text: Option<Text>,
        /// Position of the directive.
        span: Span,
    },
    /// `break`: stops rewriting.
    Break {
        /// Position of the directive.
        span: Span,
    },
    /// `if (condition) { … }`.
    If(Box<IfBlock>),
}

/// `if` block. In a location, its settings replace those of the location if the condition is true; the last true `if`
/// applies, as in nginx.
#[derive(Clone, Debug)]
pub struct IfBlock {
    /// Condition under which the block applies.
    pub condition: ConditionConf,
    /// Settings of the outer level, changed by the directives of the block.
    pub settings: Settings,
    /// True if the block contains directives other than rewrite steps.
    pub changes_settings: bool,
    /// Rewrite directives of the block, in source order.
    pub rewrite: Vec<RewriteStep>,
    /// Position of the directive.
    pub span: Span,
}

/// Comparison of a variable with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringTest {
    /// `=`.
    Equal,
    /// `!=`.
    NotEqual,
}

/// Test of a path on the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTest {
    /// `-f`: a file exists.
    File,
    /// `-d`: a directory exists.
    Directory,
    /// `-e`: a file, directory or symbolic link exists.
    Exists,
    /// `-x`: an executable file exists.
    Executable,
}

/// Condition of `if`. Variables are named without `$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionConf {
    /// `($variable)`: the value is neither empty nor `0`.
    True(Text),
    /// `($variable = value)`.
    Compare {
        /// Name of the variable.
        variable: Text,
        /// Comparison operator.
        test: StringTest,
        /// Value; may contain variables.
        value: Text,
    },
    /// `($variable ~ regex)`, `~*`, `!~`, `!~*`.
    Match {
        /// Name of the variable.
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
        /// Test to perform.
        test: FileTest,
        /// True for `!`.
        negated: bool,
        /// Path; may contain variables.
        path: Text,
    },
}
