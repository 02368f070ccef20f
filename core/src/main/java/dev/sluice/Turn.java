// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The turn of one caller: it comes once, when all that it took is there, unless it gives up. */
final class Turn {

  private final List<Place> places;
  private final Runnable onCome;
  private int waitsFor; // places; under the room's lock
  private boolean gone; // under the room's lock
  private volatile boolean come; // written under the room's lock

  /**
   * A turn.
   *
   * @param onCome told when the turn has come, unless it had at once; must not block
   */
  Turn(List<Place> places, Runnable onCome) {
    this.places = places;
    this.onCome = onCome;
  }

  boolean hasCome() {
    return come;
  }

  List<Place> places() {
    return places;
  }

  void waitFor(Place place) {
    place.turn = this;
    waitsFor++;
  }

  /** Returns this if it has come with this place. */
  @Nullable Turn without(Place place) {
    place.turn = null;
    waitsFor--;
    settle();
    return come ? this : null;
  }

  void settle() {
    come = waitsFor == 0;
  }

  void tell() {
    onCome.run();
  }

  /** Returns false if the turn was given up before. */
  boolean leave() {
    boolean left = !gone;
    gone = true;
    return left;
  }
}
