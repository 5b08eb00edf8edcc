"""Finds the dependencies between the files of a Rust crate, and the cycles in them.

A file depends on another file if it names an item of it, in a `use` or by a path. Re-exports are followed: `crate::Zone` is a
dependency on the file that defines `Zone`, not on `lib.rs`. So neither `mod x;` nor `pub use x::Y;` alone is a dependency. Code that is
compiled only for tests is ignored. Method calls are not detected, because they do not name a type.
"""

import collections
import pathlib
import re

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
      | (?P<comment>/\*)
      | (?P<raw>\b[bc]?r(?P<hashes>\#*)".*?"(?P=hashes))
      | (?P<text>(?:\b[bc])?"(?:[^"\\]|\\.)*")
      | (?P<character>(?:\bb)?'(?:[^'\\]|\\.[^']*)')
      | (?P<lifetime>'\w+)
      | (?P<word>(?:r\#)?[A-Za-z_]\w*)
      | (?P<sign>::|.)""",
    re.S | re.X,
)
COMMENT_MARK = re.compile(r"/\*|\*/")
WORD = re.compile(r"[A-Za-z_]")
ITEMS = {"fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules"}
BEFORE_NAME = {"mut", "fn", "unsafe", "async", "extern", "!"}
OPENING, CLOSING = set("([{"), set(")]}")


def tokens_of(source):
    """Returns the tokens of a source; a string literal is one token that starts with a quote."""
    found, at = [], 0
    while at < len(source):
        match = TOKEN.match(source, at)
        at = match.end()
        kind = "raw" if match.group("raw") else match.lastgroup
        if kind == "comment":
            depth = 1
            while depth and (mark := COMMENT_MARK.search(source, at)):
                depth += 1 if mark.group() == "/*" else -1
                at = mark.end()
        elif kind == "word":
            found.append(match.group().removeprefix("r#"))
        elif kind == "sign":
            found.append(match.group())
        elif kind in ("raw", "text", "character"):
            found.append('"' + match.group().strip('"'))
    return found


def after_group(tokens, at):
    """Returns the position after the bracket that closes the one at `at`."""
    depth = 0
    while at < len(tokens):
        depth += (tokens[at] in OPENING) - (tokens[at] in CLOSING)
        at += 1
        if depth == 0:
            break
    return at


def after_item(tokens, at):
    """Returns the position after the item, field or statement that starts at `at`, with its attributes."""
    while tokens[at:at + 2] == ["#", "["]:
        at = after_group(tokens, at + 1)
    is_use = "use" in tokens[at:at + 8]
    while at < len(tokens) and tokens[at] not in CLOSING:
        if tokens[at] in (";", ","):
            return at + 1
        is_body = tokens[at] == "{" and not is_use
        at = after_group(tokens, at) if tokens[at] in OPENING else at + 1
        if is_body:
            break
    return at


def without_tests(tokens):
    """Returns the tokens without code that is compiled only for tests."""
    kept, at = [], 0
    while at < len(tokens):
        if tokens[at:at + 4] == ["#", "[", "cfg", "("]:
            end = after_group(tokens, at + 1)
            condition = tokens[at + 4:end - 2]
            if condition == ["test"] or condition[:3] == ["all", "(", "test"]:
                at = after_item(tokens, end)
                continue
        kept.append(tokens[at])
        at += 1
    return kept


class Module:
    """A module: a file, or an inline module in one."""

    def __init__(self, file, parent, folder):
        self.file, self.parent, self.folder = file, parent, folder
        self.children, self.items = {}, set()
        self.imports, self.globs = {}, []
        # Paths that the module names: (path, the name of a re-export by `pub use`, if any).
        self.named = []
        self.words = collections.Counter()

    def top(self):
        return self.parent.top() if self.parent else self

    def all(self):
        yield self
        for child in self.children.values():
            yield from child.all()


def read_use(tokens, at, prefix, found):
    """Parses one tree after `use` into (path, name), with None for `*`; returns the position after it."""
    path = list(prefix)
    while at < len(tokens):
        token = tokens[at]
        if token == "::":
            at += 1
        elif token == "{":
            at += 1
            while at < len(tokens) and tokens[at] != "}":
                at = read_use(tokens, at, path, found)
                at += at < len(tokens) and tokens[at] == ","
            return at + 1
        elif token == "*":
            found.append((path, None))
            return at + 1
        else:
            path.append(token)
            at += 1
            if tokens[at:at + 1] == ["::"]:
                continue
            name = path[-1]
            if name == "self" and len(path) > 1:
                path, name = path[:-1], path[-2]
            if tokens[at:at + 1] == ["as"]:
                name, at = tokens[at + 1], at + 2
            found.append((path, name))
            return at
    return at


class Reader:
    """Parses the tokens of a module, and the files that it declares."""

    def __init__(self, module, tokens):
        self.module, self.tokens = module, tokens
        self.at, self.depth = 0, 0
        self.is_public, self.path_attribute = False, None

    def read(self):
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            following = self.tokens[self.at + 1:self.at + 3]
            if token == "#" and self.tokens[self.at + 1:self.at + 4] == ["[", "path", "="]:
                self.path_attribute = self.tokens[self.at + 4].strip('"')
                self.at = after_group(self.tokens, self.at + 1)
            elif token == "pub":
                self.is_public = True
                is_bounded = following[:1] == ["("]
                self.at = after_group(self.tokens, self.at + 1) if is_bounded else self.at + 1
            elif token == "use":
                self.read_import()
            elif token == "mod" and len(following) == 2 and following[1] in ("{", ";"):
                self.read_child(*following)
            elif WORD.match(token):
                self.read_word(token)
            else:
                self.depth += (token in OPENING) - (token in CLOSING)
                self.at += 1

    def read_import(self):
        found = []
        self.at = read_use(self.tokens, self.at + 1, [], found)
        for path, name in found:
            if name is None:
                self.module.globs.append(path)
            elif name != "_" and (self.depth == 0 or name not in self.module.imports):
                self.module.imports[name] = path
            self.module.named.append((path, name if self.is_public else None))
        self.is_public = False

    def read_child(self, name, opening):
        module, given_path = self.module, self.path_attribute
        self.is_public, self.path_attribute = False, None
        if opening == "{":
            end = after_group(self.tokens, self.at + 2)
            child = module.children[name] = Module(module.file, module, module.folder / name)
            Reader(child, self.tokens[self.at + 3:end - 1]).read()
            self.at = end
            return
        self.at += 3
        usual = [module.folder / f"{name}.rs", module.folder / name / "mod.rs"]
        for path in [module.file.parent / given_path] if given_path else usual:
            if path.exists():
                module.children[name] = read_file(path, module, module.folder / name)

    def read_word(self, word):
        tokens, start = self.tokens, self.at
        before = tokens[start - 1] if start else ""
        self.is_public = False
        if word in ITEMS and self.depth == 0:
            following = (name for name in tokens[start + 1:start + 5] if name not in BEFORE_NAME)
            self.module.items.add(next(following, ""))
        path, self.at = [word], start + 1
        while tokens[self.at:self.at + 1] == ["::"] and WORD.match(*tokens[self.at + 1:self.at + 2] or [":"]):
            path.append(tokens[self.at + 1])
            self.at += 2
        if before not in (".", "::"):
            self.module.words[word] += 1
            if len(path) > 1:
                self.module.named.append((path, None))


def read_file(path, parent, folder):
    module = Module(path, parent, folder)
    Reader(module, without_tests(tokens_of(path.read_text()))).read()
    return module


def look_up(module, name, seen):
    """Resolves a name in a module: a Module, the path of the file that defines it, or None for another crate."""
    if (id(module), name) in seen:
        return None
    seen = seen | {(id(module), name)}
    if name in module.children:
        return module.children[name]
    if name in module.items:
        return module.file
    if name in module.imports:
        return resolve(module, module.imports[name], seen)
    for path in module.globs:
        target = resolve(module, path, seen)
        found = look_up(target, name, seen) if isinstance(target, Module) else None
        if found is not None:
            return found
    return None


def resolve(module, path, seen=frozenset()):
    """Resolves a path, seen from a module; the result is as for `look_up`."""
    here, rest = module, list(path)
    if rest[0] == "crate":
        here, rest = module.top(), rest[1:]
    elif rest[0] in ("self", "super"):
        while rest and rest[0] in ("self", "super"):
            here, rest = (here.parent or here) if rest[0] == "super" else here, rest[1:]
    else:
        here = look_up(module, rest[0], seen)
        rest = rest[1:]
    for name in rest:
        if not isinstance(here, Module):
            break
        found = look_up(here, name, seen)
        if found is None and name not in here.imports:
            return here.file  # created by a macro
        here = found
    return here


def names_by_star(module):
    """Yields (name, defining file) of the items that a module uses through `use x::*`."""
    for path in module.globs:
        target = resolve(module, path)
        for name in module.words if isinstance(target, Module) else ():
            is_own = name in module.items or name in module.imports or name in module.children
            found = None if is_own else look_up(target, name, frozenset())
            if isinstance(found, pathlib.Path) and found != module.file:
                yield name, found


def file_dependencies(source_folder):
    """Returns {file: {used file: used names}} for the crate with sources in a folder."""
    dependencies = collections.defaultdict(lambda: collections.defaultdict(set))
    for root in ("lib.rs", "main.rs"):
        if not (source_folder / root).exists():
            continue
        for module in read_file(source_folder / root, None, source_folder).all():
            for path, reexported_name in module.named:
                # A re-exported name does not count as used here.
                if reexported_name and not module.words[reexported_name]:
                    continue
                target = resolve(module, path)
                if isinstance(target, pathlib.Path) and target != module.file:
                    dependencies[module.file][target].add(path[-1])
            for name, target in names_by_star(module):
                dependencies[module.file][target].add(name)
    return dependencies


def reachable(dependencies, start):
    """Returns the files that a file depends on, directly or indirectly."""
    seen, todo = set(), [start]
    while todo:
        for target in dependencies.get(todo.pop(), ()):
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


def cycles_of(dependencies):
    """Returns the import cycles (sets of files that all depend on one another), the largest first."""
    reachable_from = {file: reachable(dependencies, file) for file in dependencies}
    cycles = {
        frozenset(other for other in reachable_from[file] if file in reachable_from.get(other, ()))
        for file in dependencies if file in reachable_from[file]
    }
    return sorted((sorted(cycle) for cycle in cycles), key=lambda cycle: (-len(cycle), cycle))
