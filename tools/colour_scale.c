/*
 * colour_scale.c: "viridis" by Nathaniel Smith and Stefan van der Walt (released under CC0), eleven of its colours
 * with straight lines between them. It is readable without colour and by people who see colours differently.
 */
#include "colour_scale.h"

static const unsigned char colours[][3] = {
    {0x44, 0x01, 0x54}, {0x48, 0x24, 0x75}, {0x41, 0x44, 0x87}, {0x35, 0x5f, 0x8d}, {0x2a, 0x78, 0x8e},
    {0x21, 0x91, 0x8c}, {0x22, 0xa8, 0x84}, {0x44, 0xbf, 0x70}, {0x7a, 0xd1, 0x51}, {0xbd, 0xdf, 0x26},
    {0xfd, 0xe7, 0x25},
};

int colour_scale(double fraction)
{
    enum { LAST = sizeof colours / sizeof *colours - 1 };
    double place = fraction <= 0.0 ? 0.0 : fraction >= 1.0 ? LAST : fraction * LAST;
    int below = place >= LAST ? LAST - 1 : (int)place;
    int colour = 0;
    for (int channel = 0; channel < 3; channel++) {
        double from = colours[below][channel], to = colours[below + 1][channel];
        colour = colour << 8 | (int)(from + (to - from) * (place - below) + 0.5);
    }
    return colour;
}
