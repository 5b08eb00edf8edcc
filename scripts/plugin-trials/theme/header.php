<!DOCTYPE html>
<html <?php language_attributes(); ?>>
<head>
<meta charset="<?php bloginfo('charset'); ?>">
<?php wp_head(); ?>
</head>
<body <?php body_class(); ?>>
<?php wp_body_open(); ?>
<header><a href="<?php echo esc_url(home_url('/')); ?>"><?php bloginfo('name'); ?></a> <?php bloginfo('description'); ?>
<?php wp_nav_menu(array('theme_location' => 'main')); ?></header>
<main>
