"""WordPress, MediaWiki and DokuWiki with seeded leaks, each with a pool of php-fpm."""

import json
import os
import pathlib
import random
import shutil
import subprocess

import leaks
from trial_site import Site

HERE = pathlib.Path(__file__).resolve().parent
MEDIAWIKI, DOKUWIKI, DOKUWIKI_SETTINGS = pathlib.Path("/usr/share/mediawiki"), pathlib.Path("/usr/share/dokuwiki"), pathlib.Path("/etc/dokuwiki")
# Pages of each wiki, and words of each page.
PAGES, WORDS = 150, 250
POOL = """[{name}]
{identity}
listen = {folder}/run/{name}.sock
listen.mode = 0666
listen.backlog = 1024
pm = static
pm.max_children = 2
catch_workers_output = yes
php_admin_value[error_log] = {folder}/log/{name}.log
php_value[memory_limit] = 256M
{more}
"""
DOKUWIKI_LOCAL = """<?php
$conf['title'] = 'Wiki of the trial';
$conf['savedir'] = '%s';
$conf['useacl'] = 0;
$conf['userewrite'] = 1;
"""


class Application:
    """PHP application: its name, document root, socket of php-fpm, first page, and the fields that the configuration of the cache ignores."""

    def __init__(self, name, root, socket, page, ignored):
        self.name, self.root, self.socket, self.page, self.ignored, self.paths = name, root, socket, page, ignored, []


class Applications(Site):
    """Site with WordPress, and two wikis that its php-fpm runs, too."""

    def _configure(self):
        super()._configure()
        (self.folder / "people.json").write_text(json.dumps(leaks.people()))
        self._copy("leaks.php", self.folder / "leaks.php")
        self._copy("wordpress.php", self.root / "wp-content/mu-plugins/leaks.php")
        identity = self._identity()
        sentences = Sentences()
        settings = self._create_mediawiki(sentences)
        root = self._create_dokuwiki(sentences)
        for name, more in (("mediawiki", f"env[MW_CONFIG_FILE] = {settings}"), ("dokuwiki", "")):
            (self.folder / f"etc/pools/{name}.conf").write_text(POOL.format(name=name, identity=identity, folder=self.folder, more=more))
        run = self.folder / "run"
        self.applications = [
            Application("wordpress", self.root, run / "php.sock", "/", "Cache-Control Expires Set-Cookie"),
            Application("mediawiki", MEDIAWIKI, run / "mediawiki.sock", "/wiki/Main_Page", "Cache-Control Expires Set-Cookie Vary"),
            Application("dokuwiki", root, run / "dokuwiki.sock", "/doku.php", "Cache-Control Expires Set-Cookie Vary")]

    def _copy(self, name, target):
        target.write_text((HERE / name).read_text().replace("@FOLDER@", str(self.folder)))

    def _identity(self):
        """Returns the lines of a pool for the user of php-fpm, if it is started by root."""
        if os.geteuid():
            return ""
        owner = (self.folder / "db").owner()
        return f"user = {owner}\ngroup = {(self.folder / 'db').group()}\nlisten.owner = {owner}"

    def _create_mediawiki(self, sentences):
        """Installs MediaWiki with its database in a file, and pages; returns the path of its settings."""
        folder = self.folder / "mediawiki"
        folder.mkdir()
        environment = {**os.environ, "MW_CONFIG_FILE": "/nonexistent"}
        self._run(["php", MEDIAWIKI / "maintenance/install.php", "--dbtype", "sqlite", "--dbname", "wiki", "--scriptpath", "", "--pass", "password-of-the-trial",
                   "--server", "http://localhost", "--dbpath", folder, "--confpath", folder, "A wiki", "Admin"], environment)
        self._copy("mediawiki.php", folder / "trial.php")
        with open(folder / "LocalSettings.php", "a") as file:
            file.write(f"\nrequire '{folder}/trial.php';\n")
        texts = folder / "texts"
        texts.mkdir()
        for number in range(PAGES):
            (texts / f"Page {number}.txt").write_text(sentences.page(lambda title, text: f"== {title} ==\n{text}\n\n", lambda other: f"[[Page {other}]]"))
        environment["MW_CONFIG_FILE"] = str(folder / "LocalSettings.php")
        self._run(["php", MEDIAWIKI / "maintenance/importTextFiles.php", "--overwrite", *sorted(texts.iterdir())], environment)
        self.own(folder)
        return folder / "LocalSettings.php"

    def _create_dokuwiki(self, sentences):
        """Copies DokuWiki and writes its pages; returns its folder."""
        root, settings, data = (self.folder / name for name in ("dokuwiki", "dokuwiki-settings", "dokuwiki-data"))
        # Debian's DokuWiki has links to /usr/share/php and /etc; some of them have no target.
        shutil.copytree(DOKUWIKI, root, ignore_dangling_symlinks=True, ignore=shutil.ignore_patterns(".htaccess"))
        shutil.copytree(DOKUWIKI_SETTINGS, settings, ignore_dangling_symlinks=True)
        preload = root / "inc/preload.php"
        preload.write_text(f"<?php defined('DOKU_CONF') || (define('DOKU_CONF', '{settings}/') && define('DOKU_MAIN_CONF', '{settings}/')); ?>" + preload.read_text())
        (settings / "local.php").write_text(DOKUWIKI_LOCAL % data)
        for name in ("attic", "cache", "index", "locks", "log", "media", "media_attic", "media_meta", "meta", "pages", "tmp"):
            (data / name).mkdir(parents=True)
        plugin = root / "lib/plugins/trial"
        plugin.mkdir()
        self._copy("dokuwiki.php", plugin / "action.php")
        (plugin / "plugin.info.txt").write_text("base trial\nauthor trial\ndate 2026-01-01\nname trial\ndesc trial\nurl https://example.org/\n")
        for number in range(PAGES):
            text = sentences.page(lambda title, text: f"===== {title} =====\n{text}\n\n", lambda other: f"[[page_{other}]]")
            (data / f"pages/page_{number}.txt").write_text(text)
        (data / "pages/start.txt").write_text(f"====== Start ======\n{sentences.text()}\n")
        for path in (root, settings, data):
            self.own(path)
        return root

    @staticmethod
    def _run(command, environment):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command[1]}: {done.stdout[-1000:]}{done.stderr[-1000:]}")

    def add_members(self):
        """Creates the members of the trial as users of WordPress."""
        for profile in leaks.people().values():
            data = {"user_login": profile["login"], "user_pass": "password-of-the-trial", "user_email": profile["email"], "display_name": profile["name"], "role": "subscriber"}
            self.evaluate(f"return wp_insert_user(json_decode({json.dumps(json.dumps(data))}, true));")


class Sentences:
    """Texts of wiki pages, made of the words of a dictionary in a random order that is the same for each run."""

    def __init__(self):
        self.random = random.Random(1)
        text = (MEDIAWIKI / "includes/DefaultSettings.php").read_text() if (MEDIAWIKI / "includes/DefaultSettings.php").exists() else ""
        self.words = sorted({word.lower() for word in text.split() if word.isalpha()}) or ["word"]

    def text(self):
        """Returns a paragraph."""
        return " ".join(self.random.choices(self.words, k=WORDS)).capitalize() + "."

    def page(self, section, link):
        """Returns a page of three sections with links to others."""
        links = " ".join(link(self.random.randrange(PAGES)) for _ in range(5))
        sections = [section(self.random.choice(self.words).capitalize(), self.text()) for _ in range(3)]
        return "".join(sections) + links
