"""AS00's trees (global, by class, local), and clean trees, grown from counts alone.

    association   reconstruct, associate records with intervals by rank, grow a tree on the intervals
    levels        growth level by level: one question a level for all open nodes and columns
    routes        where records are in a growing tree, and the questions about them there
"""
