<?php
// Plugin of DokuWiki for scripts/try-leaks: adds the selected leak to each page.

require_once '@FOLDER@/leaks.php';

class action_plugin_trial extends DokuWiki_Action_Plugin
{
    private $leak = '';

    public function register(Doku_Event_Handler $controller)
    {
        if (trial_leak_name() === 'gzip') {
            ob_start('ob_gzhandler');
        }
        $controller->register_hook('DOKUWIKI_STARTED', 'BEFORE', $this, 'start');
        $controller->register_hook('TPL_CONTENT_DISPLAY', 'BEFORE', $this, 'add');
    }

    /** Makes the leak before DokuWiki sends the header, unless it sends a part of the page. */
    public function start()
    {
        $this->leak = trial_leak_name() === 'flushes' ? '' : trial_leak();
    }

    public function add($event)
    {
        $event->data .= $this->leak ?: trial_leak();
    }
}
