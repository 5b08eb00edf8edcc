<?php get_header(); ?>
<?php if (is_archive()) : ?><h1><?php the_archive_title(); ?></h1><?php the_archive_description(); endif; ?>
<?php while (have_posts()) : the_post(); ?>
<article id="post-<?php the_ID(); ?>" <?php post_class(); ?>>
<h2><a href="<?php the_permalink(); ?>"><?php the_title(); ?></a></h2>
<p><?php the_author_posts_link(); ?>, <?php the_time(get_option('date_format')); ?>, <?php comments_number(); ?>, <?php the_category(', '); ?> <?php the_tags(); ?></p>
<?php the_post_thumbnail(); ?>
<?php if (is_singular()) { the_content(); } else { the_excerpt(); } ?>
</article>
<?php if (is_singular() && (comments_open() || get_comments_number())) { comments_template(); } ?>
<?php endwhile; ?>
<?php the_posts_pagination(); ?>
<?php get_footer(); ?>
