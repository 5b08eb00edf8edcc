</main>
<aside><?php dynamic_sidebar('sidebar-1'); ?></aside>
<?php wp_footer(); ?>
</body>
</html>
