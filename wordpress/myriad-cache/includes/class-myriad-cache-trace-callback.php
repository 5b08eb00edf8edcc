<?php
/**
 * Callback whose output is marked during a search.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Replaces a callback of an action or a filter.
 */
class Myriad_Cache_Trace_Callback {

	/**
	 * Callback, hook, origin, and true for an action.
	 *
	 * @var array
	 */
	private $of;

	/**
	 * Creates the replacement.
	 *
	 * @param callable $call      Callback.
	 * @param string   $hook      Action or filter.
	 * @param string   $origin    Origin.
	 * @param bool     $is_action True for an action.
	 */
	public function __construct( $call, $hook, $origin, $is_action ) {
		$this->of = array( $call, $hook, $origin, $is_action );
	}

	/**
	 * Calls the callback.
	 *
	 * @param mixed ...$arguments Arguments.
	 * @return mixed
	 */
	public function __invoke( ...$arguments ) {
		return Myriad_Cache_Trace::call( $this->of[0], $this->of[1], $this->of[2], $this->of[3], $arguments );
	}
}
