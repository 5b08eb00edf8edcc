"""Autoptimize, with all optimizations turned on."""


def prepare(trial):
    trial.site.evaluate("foreach (array('autoptimize_html', 'autoptimize_js', 'autoptimize_js_aggregate', 'autoptimize_css', 'autoptimize_css_aggregate', 'autoptimize_css_include_inline', 'autoptimize_js_include_inline') as $name) update_option($name, 'on'); return 1;")
