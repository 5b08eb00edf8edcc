//! `location` blocks, and the rewrite steps of servers, locations and `if` blocks.

use myriad_script::functions::Function;

use crate::{diagnostic::Diagnostic, settings::Settings, span::Span, text::Text};

/// Kind of a location's pattern, which defines how a URI is compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matcher {
    /// `= /path`: the URI must be equal to the path.
    Exact,
    /// `/path`: the URI must start with the path. The longest such location applies unless a regex matches.
    Prefix,
    /// `^~ /path`: if it is the longest matching prefix, no regex is tried.
    PrefixNoRegex,
    /// `~ regex`, or `~* regex`: the URI must match. The first such location in source order applies.
    Regex {
        /// True for `~*`: the regex ignores case.
        caseless: bool,
    },
    /// `@name`: only reachable by internal redirects; the pattern includes the `@`.
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
    /// `limit_except` block; `None` if the location has none.
    pub limit_except: Option<LimitExcept>,
    /// Position from the `location` word to the last byte of the pattern.
    pub span: Span,
}

/// `limit_except` block: settings for all methods that are not listed.
#[derive(Clone, Debug)]
pub struct LimitExcept {
    /// Methods to which the block does not apply, in upper case. GET includes HEAD.
    pub methods: Vec<String>,
    /// Settings for requests with any other method.
    pub settings: Settings,
    /// Position of the directive.
    pub span: Span,
}

/// Last argument of `rewrite`: action after the URI was rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewriteFlag {
    /// No flag: continue with the next directive, then search for a location again.
    None,
    /// Stop rewriting and search for a location again.
    Last,
    /// Stop rewriting and stay in this location.
    Break,
    /// Respond with 302. Also set for every flag except `permanent`, and without a flag, if the replacement starts with
    /// `http://`, `https://` or `$scheme`.
    Redirect,
    /// Respond with 301.
    Permanent,
}

/// Function that creates the [`Function`] of a [`RewriteStep::Call`] from the settings of its level and the arguments
/// of the directive.
pub type MakeFunction = fn(&Settings, &[Text]) -> Result<Function, Diagnostic>;

/// Directive of nginx's rewrite module, or one that sets a variable to the result of a function (such as `set_md5`);
/// executed in source order.
#[derive(Clone, Debug)]
pub enum RewriteStep {
    /// `set $variable value`: assigns a value to a variable.
    Set {
        /// Name of the variable, without `$`.
        variable: Text,
        /// Value to assign; may contain variables.
        value: Text,
    },
    /// Directive that sets a variable to the result of a function, such as `set_md5 $variable text`.
    Call {
        /// Directive and variable, for messages: `set_md5 $digest`.
        name: String,
        /// Name of the variable to set, without `$`.
        variable: Text,
        /// Function that compiles the arguments to the function that computes the value.
        function: MakeFunction,
        /// Arguments of the function, as written.
        arguments: Vec<Text>,
        /// Position of the directive.
        span: Span,
    },
    /// `rewrite pattern replacement [flag]`: replaces the URI if it matches.
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
    /// `return code [text]`, or `return URL` (302): responds without a content handler.
    Return {
        /// Status of the response; 444 closes the connection without a response.
        code: u16,
        /// Body of the response, or its `Location` if the status is 301, 302, 303, 307 or 308; `None` if not given.
        text: Option<Text>,
        /// Position of the directive.
        span: Span,
    },
    /// `break`: stops rewriting.
    Break {
        /// Position of the directive.
        span: Span,
    },
    /// `if (condition) { … }`: executes the steps of the block if the condition is true.
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
    /// `=`: the variable equals the text.
    Equal,
    /// `!=`: the variable differs from the text.
    NotEqual,
}

/// Test of a path on the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTest {
    /// `-f`: the path is a regular file, or a link to one.
    File,
    /// `-d`: the path is a directory, or a link to one.
    Directory,
    /// `-e`: the path exists with any type, or is a link to such a path.
    Exists,
    /// `-x`: any execute permission of the path is set, also if it is a directory.
    Executable,
}

/// Condition of `if`. Variables are named without `$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionConf {
    /// `($variable)`: the value is neither empty nor `0`.
    True(Text),
    /// `($variable = value)` or `($variable != value)`.
    Compare {
        /// Name of the variable.
        variable: Text,
        /// Comparison operator.
        test: StringTest,
        /// Value to compare with; may contain variables.
        value: Text,
    },
    /// `($variable ~ regex)`, `~*`, `!~`, `!~*`: match with a regex.
    Match {
        /// Name of the variable.
        variable: Text,
        /// Regex with which the variable is compared.
        pattern: Text,
        /// True for `~*` and `!~*`: the regex ignores case.
        caseless: bool,
        /// True for `!~` and `!~*`: the regex must not match.
        negated: bool,
    },
    /// `(-f path)`, `(!-f path)` and similar: test of a file.
    Test {
        /// Test of the path to perform.
        test: FileTest,
        /// True for `!`: the test must fail.
        negated: bool,
        /// Path to test; may contain variables.
        path: Text,
    },
}
