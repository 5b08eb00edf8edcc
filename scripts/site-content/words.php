<?php
// Text that reads like prose and compresses like prose, made from a fixed seed.

namespace Site;

function names() {
    return array('ada', 'bruno', 'chiara', 'dmitri', 'elin', 'farid', 'greta', 'hana', 'ivo', 'june', 'kofi', 'lena');
}

function tags() {
    return array('autumn', 'bread', 'clay', 'dawn', 'ferry', 'frost', 'harvest', 'lantern', 'market', 'moss', 'oak',
        'orchard', 'paper', 'rain', 'salt', 'stone', 'thread', 'tide', 'walking', 'winter');
}

function pick($list, $count) {
    $picked = array();
    while (count($picked) < $count) {
        $picked[$list[mt_rand(0, count($list) - 1)]] = true;
    }
    return array_keys($picked);
}

function title($number) {
    $things = array('The Orchard', 'A Ferry', 'Bread', 'The Old Workshop', 'A Lantern', 'Rain', 'The Market', 'Clay',
        'A Stone Wall', 'The Long Walk', 'Salt', 'Winter Light');
    $places = array('by the River', 'in the Morning', 'Before the Frost', 'at the Edge of Town', 'and What It Taught Us');
    return $things[$number % 12] . ' ' . $places[intdiv($number, 12) % 5];
}

function sentence() {
    $openings = array('In the morning', 'After the rain', 'By the river', 'At the market', 'Late in October',
        'On the way home', 'Before anyone woke', 'When the ferry came', 'In my grandmother\'s kitchen', 'That winter');
    $subjects = array('the baker', 'an old carpenter', 'my neighbour', 'a boy with a lantern', 'the whole street',
        'the potter', 'our cat', 'a stranger in a grey coat', 'the keeper of the bridge', 'everyone we knew');
    $verbs = array('carried', 'mended', 'remembered', 'planted', 'measured', 'painted', 'counted', 'listened to',
        'waited for', 'forgot', 'described', 'gave away');
    $objects = array('the apple trees', 'a basket of clay', 'seven loaves of bread', 'the broken clock', 'a letter',
        'the slow water', 'an unfinished wall', 'the smell of wood smoke', 'a handful of salt', 'the first frost',
        'the names of the boats', 'a song without words');
    $endings = array('and said nothing about it', 'as if there were no hurry at all', 'until the light was gone',
        'for the third time that week', 'because somebody had to', 'and we all came out to look',
        'with a patience I have never had', 'while the kettle sang', 'which was more than enough',
        'and wrote it down so that it would not be lost');
    $word = fn ($list) => $list[mt_rand(0, count($list) - 1)];
    return $word($openings) . ' ' . $word($subjects) . ' ' . $word($verbs) . ' ' . $word($objects) . ', ' .
        $word($endings) . '.';
}

function excerpt() {
    return implode(' ', array_map(__NAMESPACE__ . '\sentence', range(1, 3)));
}

// Gutenberg blocks, as the editor saves them: paragraphs, headings and quotations.
function blocks($count) {
    $html = '';
    for ($block = 1; $block <= $count; $block++) {
        $text = implode(' ', array_map(__NAMESPACE__ . '\sentence', range(1, mt_rand(3, 6))));
        if ($block % 5 === 3) {
            $html .= "<!-- wp:heading -->\n<h2>" . ucfirst(implode(' and ', pick(tags(), 2))) . "</h2>\n<!-- /wp:heading -->\n\n";
        }
        if ($block % 7 === 6) {
            $html .= "<!-- wp:quote -->\n<blockquote class=\"wp-block-quote\"><p>" . sentence() .
                "</p></blockquote>\n<!-- /wp:quote -->\n\n";
        }
        $html .= "<!-- wp:paragraph -->\n<p>$text</p>\n<!-- /wp:paragraph -->\n\n";
    }
    return $html;
}
