"""Elementor: pages are saved by the scripts of its editor."""

import json

import content


def prepare(trial):
    trial.site.evaluate("update_option('elementor_onboarded', true); delete_transient('elementor_activation_redirect'); return 1;")


def _widget(name, kind, settings):
    return {"id": name, "elType": "widget", "widgetType": kind, "settings": settings, "elements": []}


def _save(trial, title, more=()):
    elements = [{"id": "a1b2c3d", "elType": "section", "settings": {}, "elements": [{
        "id": "b1b2c3d", "elType": "column", "settings": {"_column_size": 100}, "elements": [
            _widget("c1b2c3d", "heading", {"title": title}), _widget("d1b2c3d", "shortcode", {"shortcode": "[elementor-template id=\"1\"]"}), *more]}]}]
    action = {"action": "save_builder", "data": {"status": "publish", "elements": elements, "settings": {"post_status": "publish"}}}
    trial.ajax("elementor_ajax", {
        "editor_post_id": trial.page, "initial_document_id": trial.page, "_nonce": trial.nonce("elementor_ajax"),
        "actions": json.dumps({"save_builder": action})})


def pages(trial):
    trial.page = content.write_page(trial, "built", "")
    trial.site.evaluate(f"update_post_meta({trial.page}, '_elementor_edit_mode', 'builder'); return 1;")
    _save(trial, "Hedges")


def change(trial):
    trial.change("heading of a page", lambda: _save(trial, "Fences"))
    trial.change("new widget on a page", lambda: _save(trial, "Fences", [_widget("e1b2c3d", "button", {"text": "Press"})]))
    trial.change("colour of the kit", lambda: trial.site.evaluate(
        "$kit = \\Elementor\\Plugin::$instance->kits_manager->get_active_kit(); $kit->update_settings(array('custom_colors' => array(array("
        "'_id' => 'abc1234', 'title' => 'Moss', 'color' => '#112233')))); \\Elementor\\Plugin::$instance->files_manager->clear_cache(); return 1;"))
