//! Parser: turns the tokens of all files into a [`ParsedConfiguration`] tree, and resolves `include`.

use std::{
    collections::HashMap,
    io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    builtin::{self, BuiltinFile},
    diagnostic::Diagnostic,
    glob,
    lexer::{Lexer, Token},
    parsed::{Node, ParsedConfiguration, SourceFile, Word},
    pasted_text,
    settings::tls_display_name,
    source::Loader,
    span::{FileId, Span},
};

/// Maximum nesting depth of blocks and includes. Deeper nesting is treated as a mistake or an attack.
const MAX_DEPTH: usize = 64;
/// Maximum number of directives in all configuration files, so that files that include each other several times cannot
/// exhaust memory.
const MAX_NODES: usize = 1_000_000;
/// Maximum size of a configuration file, in bytes; spans have 32-bit offsets.
const MAX_FILE: usize = 256 << 20;
/// Maximum number of syntax errors that are collected; further errors are dropped.
const MAX_ERRORS: usize = 100;

/// Parses the configuration file `path` and all files that it includes, relative to the folder of `path`. `globals`
/// contains the directives of `-g`, or is empty. `files` are used instead of included files that do not exist. Errors
/// are returned in [`ParsedConfiguration::errors`].
pub(crate) fn parse(
    loader: &dyn Loader,
    path: &Path,
    globals: &[u8],
    files: &[BuiltinFile],
) -> ParsedConfiguration {
    let mut parser = Parser {
        loader,
        files,
        folder: path.parent().unwrap_or(Path::new("")).to_owned(),
        parsed: ParsedConfiguration::default(),
        known: HashMap::new(),
        open: Vec::new(),
        depth: 0,
        nodes: 0,
    };
    let mut nodes = Vec::new();
    if !globals.is_empty() {
        let file = parser.add_source(PathBuf::from("-g"), globals.into(), false);
        // As in nginx, the last directive of `-g` needs no `;`.
        let mut text = globals.to_vec();
        text.push(b';');
        nodes = parser.text(if globals.trim_ascii_end().ends_with(b";") { globals } else { &text }, file);
    }
    let included = parser.file(path, Span::default());
    nodes.extend(included);
    parser.parsed.nodes = nodes;
    parser.parsed
}

struct Parser<'l> {
    loader: &'l dyn Loader,
    files: &'l [BuiltinFile],
    folder: PathBuf,
    parsed: ParsedConfiguration,
    known: HashMap<PathBuf, FileId>,
    /// Configuration files that are being parsed, each included by the previous one, to detect cycles.
    open: Vec<PathBuf>,
    /// Number of files and blocks that are being parsed, including the main file.
    depth: usize,
    nodes: usize,
}

impl Parser<'_> {
    fn error(&mut self, diagnostic: Diagnostic) {
        if self.parsed.errors.len() < MAX_ERRORS {
            self.parsed.errors.push(diagnostic);
        }
    }

    fn add_source(&mut self, path: PathBuf, bytes: Arc<[u8]>, builtin: bool) -> FileId {
        let file = FileId(self.parsed.sources.len() as u32);
        self.known.insert(path.clone(), file);
        self.parsed.sources.push(SourceFile { path, bytes, builtin, masked: Vec::new() });
        file
    }

    /// Reads a configuration file on first use. A file that does not exist is replaced by the built-in file of its
    /// name, if there is one. Fails if the file cannot be read or is larger than [`MAX_FILE`].
    fn open_source(&mut self, path: &Path) -> io::Result<FileId> {
        if let Some(&file) = self.known.get(path) {
            return Ok(file);
        }
        let (bytes, is_builtin) = match self.loader.read(path) {
            Ok(bytes) => (bytes, false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (builtin::file(path, self.files).ok_or(error)?.into_bytes(), true)
            }
            Err(error) => return Err(error),
        };
        if bytes.len() > MAX_FILE {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "configuration file too large"));
        }
        Ok(self.add_source(path.to_owned(), bytes.into(), is_builtin))
    }

    fn file(&mut self, path: &Path, from: Span) -> Vec<Node> {
        if self.open.iter().any(|open| open == path) {
            let chain: Vec<_> = self.open.iter().map(|open| open.display().to_string()).collect();
            let message = format!("\"{}\" includes itself", path.display());
            self.error(
                Diagnostic::error(from, message).help(format!("include chain: {}", chain.join(" -> "))),
            );
            return Vec::new();
        }
        if self.depth > MAX_DEPTH {
            self.error(Diagnostic::error(from, too_deep()));
            return Vec::new();
        }
        match self.open_source(path) {
            Ok(file) => {
                let bytes = Arc::clone(&self.parsed.sources[file.0 as usize].bytes);
                self.open.push(path.to_owned());
                self.depth += 1;
                let nodes = self.text(&bytes, file);
                self.depth -= 1;
                self.open.pop();
                nodes
            }
            Err(error) => {
                self.error(Diagnostic::error(from, format!("cannot open \"{}\": {error}", path.display())));
                Vec::new()
            }
        }
    }

    fn text(&mut self, bytes: &[u8], file: FileId) -> Vec<Node> {
        let mut lexer = Lexer::new(bytes, file);
        let nodes = self.block(&mut lexer, None);
        self.parsed.sources[file.0 as usize].masked = lexer.into_masked();
        nodes
    }

    /// Parses directives up to the `}` of a block, where `opened` is the position of the block's directive, or all
    /// directives of the file if `opened` is `None`. An unclosed block is an error; the rest of the file belongs to it.
    fn block(&mut self, lexer: &mut Lexer<'_>, opened: Option<Span>) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut words: Vec<Word> = Vec::new();
        // True if a word of the current directive is invalid. Later errors about the directive are then not reported.
        let mut damaged = false;
        loop {
            match lexer.next() {
                Token::Word(word) => {
                    if let Some(diagnostic) = pasted_text::check(&word) {
                        damaged = true;
                        self.error(diagnostic);
                    }
                    words.push(word);
                }
                Token::Curly(word) => {
                    self.error(pasted_text::error(&word));
                    words.push(word);
                }
                Token::Bad(diagnostic) => {
                    damaged = true;
                    self.error(diagnostic);
                }
                Token::End(span) => match self.directive_of(&mut words, &mut damaged) {
                    Some(node) => self.end(node, &mut nodes),
                    // The `;` of an HTML entity has already terminated the directive.
                    None if self.parsed.damaged.last().is_some_and(|last| last.end + 1 == span.start) => {}
                    None => self.error(Diagnostic::error(span, "unexpected \";\"")),
                },
                Token::Open(span) => {
                    let node = self.directive_of(&mut words, &mut damaged);
                    if node.is_none() {
                        self.error(
                            Diagnostic::error(span, "unexpected \"{\"").help("write a name before the block"),
                        );
                    }
                    let at = node.as_ref().map_or(span, |node| node.span);
                    let inner = self.nested(lexer, at);
                    if let Some(node) = node {
                        self.push(Node { block: Some(inner), ..node }, &mut nodes);
                    }
                }
                Token::Close(span) => {
                    if let Some(node) = Self::node(&mut words) {
                        self.unfinished(node, &mut nodes, (span, "unexpected \"}\""));
                    }
                    if opened.is_some() {
                        return nodes;
                    }
                    self.parsed.unbalanced.push(span.file);
                    self.error(Diagnostic::error(span, "unexpected \"}\"").help("no block is open here"));
                }
                Token::Eof(_) if lexer.is_finished() => return nodes,
                Token::Eof(span) => {
                    lexer.finish();
                    if opened.is_some() {
                        self.parsed.unbalanced.push(span.file);
                    }
                    if let Some(node) = Self::node(&mut words) {
                        let message = "unexpected end of file, expecting \";\" or \"}\"";
                        self.unfinished(node, &mut nodes, (span, message));
                    } else if let Some(block) = opened {
                        let message = "unexpected end of file, expecting \"}\"";
                        self.error(
                            Diagnostic::error(span, message).related(block, "this block is never closed"),
                        );
                    }
                    return nodes;
                }
            }
        }
    }

    fn nested(&mut self, lexer: &mut Lexer<'_>, at: Span) -> Vec<Node> {
        if self.depth > MAX_DEPTH {
            self.error(Diagnostic::error(at, too_deep()));
            skip_block(lexer);
            return Vec::new();
        }
        self.depth += 1;
        let inner = self.block(lexer, Some(at));
        self.depth -= 1;
        inner
    }

    /// Creates the directive from `words`; `None` if there are none. If a word is damaged, adds the directive to
    /// [`ParsedConfiguration::damaged`], so that further errors about it count as consequences.
    fn directive_of(&mut self, words: &mut Vec<Word>, damaged: &mut bool) -> Option<Node> {
        let node = Self::node(words)?;
        if std::mem::take(damaged) {
            self.parsed.damaged.push(node.span);
        }
        Some(node)
    }

    fn node(words: &mut Vec<Word>) -> Option<Node> {
        let mut words = std::mem::take(words).into_iter();
        let name = words.next()?;
        let args: Vec<Word> = words.collect();
        let span = args.last().map_or(name.span, |last| name.span.to(last.span));
        Some(Node { name, args, block: None, span })
    }

    /// Reports a directive without a terminating `;` or `{`, and adds it as if `;` followed. It is listed in
    /// [`ParsedConfiguration::unfinished`], so that further errors about it are not reported.
    fn unfinished(&mut self, node: Node, nodes: &mut Vec<Node>, (at, message): (Span, &str)) {
        let name = tls_display_name(&node.name.text).into_owned();
        self.error(
            Diagnostic::error(at, message)
                .related(node.span, format!("\"{name}\" starts here"))
                .help("is a `;` missing before this point?"),
        );
        self.parsed.unfinished.push(node.span);
        self.end(node, nodes);
    }

    /// Adds a directive that `;` terminates; for an `include`, adds the directives of the included files instead.
    fn end(&mut self, node: Node, nodes: &mut Vec<Node>) {
        if is_include(&node) {
            self.include(&node, nodes);
        } else {
            self.push(node, nodes);
        }
    }

    fn push(&mut self, node: Node, nodes: &mut Vec<Node>) {
        self.nodes += 1;
        match self.nodes {
            ..=MAX_NODES => nodes.push(node),
            n if n == MAX_NODES + 1 => {
                let message = format!("more than {MAX_NODES} directives: check for includes that multiply");
                self.error(Diagnostic::error(node.span, message));
            }
            _ => {}
        }
    }

    fn include(&mut self, node: &Node, nodes: &mut Vec<Node>) {
        let [pattern] = node.args.as_slice() else {
            self.error(
                Diagnostic::error(node.span, "\"include\" takes one argument").help("is a `;` missing?"),
            );
            return;
        };
        if self.nodes > MAX_NODES {
            return;
        }
        let path = self.folder.join(PathBuf::from(std::ffi::OsString::from_vec(pattern.text.clone())));
        if !glob::is_pattern(path.as_os_str().as_bytes()) {
            nodes.extend(self.file(&path, pattern.span));
            return;
        }
        match glob::expand(self.loader, &path) {
            Ok(paths) => {
                for path in paths {
                    nodes.extend(self.file(&path, pattern.span));
                }
            }
            Err(error) => {
                self.error(Diagnostic::error(pattern.span, format!("cannot read the directory: {error}")));
            }
        }
    }
}

fn is_include(node: &Node) -> bool {
    node.name.text == b"include" && !node.name.quoted
}

/// Returns the message for nesting beyond [`MAX_DEPTH`].
fn too_deep() -> String {
    format!("blocks and includes are nested more than {MAX_DEPTH} deep")
}

/// Skips tokens up to the `}` of a block that is nested too deep to be parsed.
fn skip_block(lexer: &mut Lexer<'_>) {
    let mut depth = 1_usize;
    while depth > 0 {
        match lexer.next() {
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth -= 1,
            Token::Eof(_) => return,
            Token::Word(_) | Token::Curly(_) | Token::End(_) | Token::Bad(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
