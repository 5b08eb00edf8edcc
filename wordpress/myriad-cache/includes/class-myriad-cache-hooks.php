<?php
/**
 * Registration of filters and actions.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Registers filters and actions in a fraction of the time of `add_filter()`: a page needs 300 of them.
 */
class Myriad_Cache_Hooks {

	/**
	 * Hooks that are copied, by priority; false if WordPress stores hooks in another way.
	 *
	 * @var array<int, WP_Hook|false>
	 */
	private static $models = array();

	/**
	 * Registers a method for filters or actions.
	 *
	 * @param string|string[]            $names    Names of the filters or actions.
	 * @param array{0: string, 1: string} $callback Class and static method.
	 * @param int                        $priority Priority.
	 * @param int                        $args     Number of arguments of the method.
	 */
	public static function add( $names, $callback, $priority = 10, $args = 1 ) {
		global $wp_filter;
		$id        = $callback[0] . '::' . $callback[1];
		$entry     = array(
			'function'      => $callback,
			'accepted_args' => $args,
		);
		$callbacks = array( $priority => array( $id => $entry ) );
		$model     = isset( self::$models[ $priority ] ) ? self::$models[ $priority ] : self::model( $priority );
		foreach ( (array) $names as $name ) {
			if ( ! $model || ( isset( $wp_filter[ $name ] ) && ! isset( $wp_filter[ $name ]->callbacks[ $priority ] ) ) ) {
				add_filter( $name, $callback, $priority, $args );
			} elseif ( isset( $wp_filter[ $name ] ) ) {
				// The order of the priorities does not change.
				$wp_filter[ $name ]->callbacks[ $priority ][ $id ] = $entry;
			} else {
				$hook               = clone $model;
				$hook->callbacks    = $callbacks;
				$wp_filter[ $name ] = $hook; // phpcs:ignore WordPress.WP.GlobalVariablesOverride -- as add_filter() does.
			}
		}
	}

	/**
	 * Returns a hook with a function of one priority.
	 *
	 * @param int $priority Priority.
	 * @return WP_Hook|false False if WordPress stores hooks in another way.
	 */
	private static function model( $priority ) {
		$callback = array( __CLASS__, 'add' );
		$model    = new WP_Hook();
		$model->add_filter( 'myriad_cache', $callback, $priority, 4 );
		$expected = array(
			$priority => array(
				__CLASS__ . '::add' => array(
					'function'      => $callback,
					'accepted_args' => 4,
				),
			),
		);

		self::$models[ $priority ] = $expected === $model->callbacks ? $model : false;
		return self::$models[ $priority ];
	}
}
