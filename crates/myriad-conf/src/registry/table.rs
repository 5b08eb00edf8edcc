//! Registry: the rows of all families, indexed by name.

use std::{
    borrow::Cow,
    collections::HashMap,
    path::Path,
    sync::{LazyLock, OnceLock},
};

use super::{
    build_features::BuildFeature,
    builtin_families, default,
    directive::{DefaultValue, Directive, DirectiveStatus},
    family::{DirectiveFamily, ExamineBlock, ExamineHttp, ExamineLocation, ProtocolLanguage},
    known_directives::{self, known},
    suggest::nearest,
};
use crate::{
    builtin::BuiltinFile,
    parse::parse,
    parsed::{Node, ParsedConfiguration},
    settings::{Protocol, Settings},
    source::Loader,
};

/// All directives that a configuration may contain, indexed by name. Created once, and passed to all code that reads
/// configurations.
pub struct Registry {
    directives: Vec<Directive>,
    by_name: HashMap<Cow<'static, str>, Vec<usize>>,
    /// Defaults of directives that are given as text, each parsed as a directive, with the index of its row.
    defaults: Vec<(usize, Node)>,
    protocols: Vec<ProtocolLanguage>,
    block_examinations: Vec<ExamineBlock>,
    location_examinations: Vec<ExamineLocation>,
    http_examinations: Vec<ExamineHttp>,
    /// Settings of an `http` block with all defaults, created on first use.
    pub(crate) outermost: OnceLock<Settings>,
}

impl Registry {
    /// Creates a registry with the directives of the language, of features and of origin protocols.
    pub fn new(
        features: impl IntoIterator<Item = DirectiveFamily>,
        protocols: impl IntoIterator<Item = ProtocolLanguage>,
    ) -> Self {
        let features: Vec<DirectiveFamily> = features.into_iter().collect();
        let protocols: Vec<ProtocolLanguage> = protocols.into_iter().collect();
        let of_protocols = protocols.iter().flat_map(|language| language.families);
        let mut directives: Vec<Directive> = Vec::new();
        let mut block_examinations = Vec::new();
        let (mut location_examinations, mut http_examinations) = (Vec::new(), Vec::new());
        for family in builtin_families::FAMILIES.iter().chain(&features).chain(of_protocols) {
            let rows = family.rows.iter().cloned();
            directives.extend(rows.map(|row| Directive { family: family.name, ..row }));
            block_examinations.extend(family.examine_block);
            location_examinations.extend(family.examine_location);
            http_examinations.extend(family.examine_http);
        }
        for ProtocolLanguage { protocol, families, .. } in &protocols {
            for DirectiveFamily { name, of_origins, .. } in
                families.iter().chain(&builtin_families::OF_ORIGINS).chain(&features)
            {
                directives.extend(of_origins.iter().filter_map(|row| row.named_for(*protocol, name)));
            }
        }
        let mut by_name: HashMap<Cow<'static, str>, Vec<usize>> = HashMap::new();
        for (index, directive) in directives.iter().enumerate() {
            by_name.entry(directive.name.clone()).or_default().push(index);
        }
        let defaults = default::written(&directives);
        Self {
            directives,
            by_name,
            defaults,
            protocols,
            block_examinations,
            location_examinations,
            http_examinations,
            outermost: OnceLock::new(),
        }
    }

    /// Returns a registry with only the directives that this crate defines, without those of features and origin
    /// protocols.
    pub fn language() -> &'static Self {
        static LANGUAGE: LazyLock<Registry> = LazyLock::new(|| Registry::new([], []));
        &LANGUAGE
    }

    /// Parses a configuration and all files that it includes, relative to the folder of `path`. An included file that
    /// does not exist is replaced by the built-in file of its name, if there is one. `globals` contains the directives
    /// of `-g`, or is empty. Errors are returned in [`ParsedConfiguration::errors`].
    pub fn parse(&self, loader: &dyn Loader, path: &Path, globals: &[u8]) -> ParsedConfiguration {
        let files: Vec<BuiltinFile> =
            self.protocols.iter().flat_map(|language| language.files).copied().collect();
        parse(loader, path, globals, &files)
    }

    /// Iterates over the origin protocols, in the order of registration.
    pub fn protocols(&self) -> impl Iterator<Item = Protocol> {
        self.protocols.iter().map(|language| language.protocol)
    }

    /// Returns the directives and files of a protocol; `None` if it is not registered.
    pub(crate) fn language_of(&self, protocol: Protocol) -> Option<&ProtocolLanguage> {
        self.protocols.iter().find(|language| language.protocol == protocol)
    }

    /// Returns the rows of the registry, including those of directives that are rejected
    /// ([`DirectiveStatus::Refused`]): first those without a protocol prefix, by family, then those of each origin
    /// protocol.
    pub fn directives(&self) -> &[Directive] {
        &self.directives
    }

    /// Iterates over the defaults of directives that are given as text, each parsed as a directive, with its row.
    pub(crate) fn defaults(&self) -> impl Iterator<Item = (&Directive, &Node)> {
        self.defaults.iter().map(|(index, node)| (&self.directives[*index], node))
    }

    /// Iterates over the functions that check each location and each `if`.
    pub(crate) fn block_examinations(&self) -> impl Iterator<Item = ExamineBlock> {
        self.block_examinations.iter().copied()
    }

    /// Iterates over the functions that check each location.
    pub(crate) fn location_examinations(&self) -> impl Iterator<Item = ExamineLocation> {
        self.location_examinations.iter().copied()
    }

    /// Iterates over the functions that check the complete `http` block.
    pub(crate) fn http_examinations(&self) -> impl Iterator<Item = ExamineHttp> {
        self.http_examinations.iter().copied()
    }

    /// Returns the rows with this name. A name has several rows if its meaning depends on the context; an unknown name
    /// has none.
    pub(crate) fn rows_named(&self, name: &str) -> impl Iterator<Item = &Directive> + Clone {
        let rows = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        rows.iter().map(|index| &self.directives[*index])
    }

    /// Returns whether a word is the name of a directive, including unsupported ones; false for `include`, which has no
    /// row.
    pub(crate) fn is_known(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
            || known(name).is_some()
            || BuildFeature::missing_for_directive(name).is_some()
    }

    /// Returns the directive with the most similar name, if any; directives of the registry are preferred to those of
    /// known modules.
    pub(crate) fn nearest_directive(&self, name: &str) -> Option<&str> {
        nearest(name, self.directives.iter().map(|directive| &*directive.name))
            .or_else(|| nearest(name, known_directives::all().map(|directive| directive.name)))
    }

    /// Returns the rows of all directives for the documentation: `include`, the rows of the registry, then names that
    /// are only known in order to be rejected.
    pub fn rows(&self) -> Vec<DirectiveRow> {
        let implemented = self.directives.iter().map(|directive| DirectiveRow {
            name: directive.name.clone().into_owned(),
            family: directive.family,
            contexts: directive.contexts.to_string(),
            default: directive.default,
            status: directive.status,
            doc: directive.doc,
        });
        let refused = known_directives::all().map(|directive| DirectiveRow {
            name: directive.name.to_owned(),
            family: directive.module,
            contexts: String::new(),
            default: DefaultValue::None,
            status: DirectiveStatus::Refused(directive.reason),
            doc: "",
        });
        // The parser processes `include`, so it has no row.
        let include = DirectiveRow {
            name: "include".to_owned(),
            family: "process",
            contexts: "any".to_owned(),
            default: DefaultValue::None,
            status: DirectiveStatus::Same,
            doc: "Includes other files; the path may contain `*`, `?` and `[ ]`.",
        };
        std::iter::once(include).chain(implemented).chain(refused).collect()
    }
}

/// Row of the directive table in the documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectiveRow {
    /// Name of the directive.
    pub name: String,
    /// Family, or the module of a directive that is not in the registry.
    pub family: &'static str,
    /// Allowed contexts, separated by commas; empty for a directive that is only known in order to be rejected.
    pub contexts: String,
    /// Default value of the directive.
    pub default: DefaultValue,
    /// Support status of the directive, compared with nginx.
    pub status: DirectiveStatus,
    /// Description of the directive; empty if it is only known in order to be rejected.
    pub doc: &'static str,
}
